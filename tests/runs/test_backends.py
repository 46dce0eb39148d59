"""LM backends: addresses in the form that DSPy's engine wants, and failures in one line with the remedy."""

import socket
import subprocess
import sys

import dspy
import pytest

from executionrag.errors import UsageError, UserError
from executionrag.runs.backends import check_lm, check_spec, explain_lm_error, final_base_url, make_lm

KEY_VARIABLES = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY"]
BASE_VARIABLES = ["OPENAI_API_BASE", "OPENAI_BASE_URL", "OLLAMA_API_BASE", "HOSTED_VLLM_API_BASE"]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for name in KEY_VARIABLES + BASE_VARIABLES:
        monkeypatch.delenv(name, raising=False)


class Answer(dspy.Signature):
    """Answer the question."""

    question: str = dspy.InputField()
    note: str = dspy.OutputField()
    answer: str = dspy.OutputField()


@pytest.mark.parametrize(
    ("prefix", "given", "final"),
    [
        ("openai", None, None),
        ("openai", "http://localhost:8080", "http://localhost:8080/v1"),
        ("openai", "http://localhost:8080/", "http://localhost:8080/v1"),
        ("openai", "http://localhost:8080/v1", "http://localhost:8080/v1"),
        ("openai", "http://localhost:8080/v1/", "http://localhost:8080/v1"),
        ("openai", "http://localhost:8080/v1/chat/completions", "http://localhost:8080/v1"),
        ("openai", "http://localhost:8080/v1/models", "http://localhost:8080/v1"),
        ("openai", "https://gateway.example/openai", "https://gateway.example/openai/v1"),
        ("openai", "https://host.example/v1beta/openai/", "https://host.example/v1beta/openai"),
        ("openai", "https://host.example/api/paas/v4", "https://host.example/api/paas/v4"),
        ("openai", "http://[::1]:8080", "http://[::1]:8080/v1"),
        ("hosted_vllm", None, "http://localhost:8000/v1"),
        ("hosted_vllm", "http://10.0.0.5:8000", "http://10.0.0.5:8000/v1"),
        ("ollama_chat", None, "http://localhost:11434/v1"),
        ("ollama_chat", "http://localhost:11434", "http://localhost:11434/v1"),
        ("ollama_chat", "http://localhost:11434/api", "http://localhost:11434/v1"),
        ("ollama_chat", "http://localhost:11434/api/chat", "http://localhost:11434/v1"),
        ("anthropic", None, None),
        ("anthropic", "https://proxy.example/anthropic/", "https://proxy.example/anthropic"),
        ("lm_studio", "http://localhost:1234/v1/", "http://localhost:1234/v1"),
    ],
)
def test_addresses_end_where_the_engine_expects_it(prefix, given, final):
    assert final_base_url(prefix, given) == final


@pytest.mark.parametrize("given", ["http://user:pa55@host:8000/v1", "http://user@host:8000", "http://:pa55@host:8000"])
def test_a_user_name_and_password_are_left_out_of_the_address(given):
    assert final_base_url("openai", given) == "http://host:8000/v1"
    assert final_base_url("lm_studio", given).startswith("http://host:8000")


@pytest.mark.parametrize(
    "given", ["user:pa55@host", "http://user:pa55/w@host", "ftp://u:pa55@host", "http://u:pa55@h:x"]
)
def test_a_password_is_not_repeated_by_the_refusal(given):
    with pytest.raises(UsageError) as caught:
        final_base_url("openai", given)
    assert "pa55" not in str(caught.value)


@pytest.mark.parametrize("given", ["http://[::1", "http://host:99999", "http://host:port"])
def test_an_address_that_cannot_be_read_is_refused(given):
    with pytest.raises(UsageError, match="cannot be read"):
        final_base_url("openai", given)


@pytest.mark.parametrize("given", ["localhost:8000", "8000", "ftp://host/v1", "http://"])
def test_addresses_that_are_none_are_refused(given):
    with pytest.raises(UsageError, match="no http address"):
        final_base_url("openai", given)


def test_an_address_in_the_environment_counts_and_the_given_one_comes_first(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:7000")
    assert final_base_url("openai", None) == "http://localhost:7000/v1"
    assert final_base_url("openai", "http://localhost:8000") == "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("spec", "api_base", "fix"),
    [
        ("", None, "openai/gpt-4o-mini"),
        ("gpt-4o-mini", None, "openai/gpt-4o-mini"),
        ("o3", None, "openai/o3"),
        ("claude-sonnet-4", None, "anthropic/claude-sonnet-4"),
        ("gemini-2.5-flash", None, "gemini/gemini-2.5-flash"),
        ("llama3.2", None, "ollama_chat/llama3.2"),
        ("my-model", "http://localhost:8000", "openai/my-model"),
        ("openai/", None, "provider/model"),
        ("/models/x.gguf", None, "local:/models/x.gguf"),
        ("vllm/x", None, "hosted_vllm/x"),
        ("llama.cpp/x", None, "openai/x"),
        ("Qwen/Qwen2.5-7B-Instruct", None, "hosted_vllm/Qwen/Qwen2.5-7B-Instruct"),
    ],
)
def test_names_that_cannot_be_right_are_refused_with_the_likely_fix(spec, api_base, fix):
    with pytest.raises(UsageError) as caught:
        check_spec(spec, api_base)
    assert fix in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_hosted_provider_without_a_key_is_refused_before_any_call():
    with pytest.raises(UserError, match="set OPENAI_API_KEY"):
        make_lm("openai/gpt-4o-mini")
    with pytest.raises(UserError, match="set ANTHROPIC_API_KEY"):
        make_lm("anthropic/claude-sonnet-4")
    with pytest.raises(UserError, match="set OPENAI_API_KEY"):
        make_lm("openai/x", api_base="https://gateway.example/v1")


def test_a_server_on_this_machine_needs_no_key_and_gets_the_settings(lm_stub):
    backend = make_lm("openai/local-model", api_base=lm_stub.root, max_tokens=7, cache=False)
    assert backend.base_url == f"{lm_stub.root}/v1"
    assert backend.key_source == "none needed"
    assert backend.lm("hello") == ["ready"]
    path, headers, body = lm_stub.requests[-1]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer local"
    assert (body["model"], body["temperature"], body["max_completion_tokens"]) == ("local-model", 0.0, 7)
    assert "rollout_id" not in body


def test_a_providers_key_is_not_sent_to_a_private_or_plain_http_address(lm_stub, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-provider")
    backend = make_lm("openai/local-model", api_base=lm_stub.root, cache=False)
    check_lm(backend.lm)
    backend.lm("hello")
    assert "sk-of-the-provider" not in str(lm_stub.requests)
    assert lm_stub.requests[-1][1]["Authorization"] == "Bearer local"
    assert backend.key_source.startswith("none: OPENAI_API_KEY is kept")
    named = make_lm("openai/local-model", api_base=lm_stub.root, api_key="its-own", cache=False)
    assert named.lm("hello again") == ["ready"]
    assert lm_stub.requests[-1][1]["Authorization"] == "Bearer its-own"


@pytest.mark.parametrize(
    ("spec", "api_base", "sent"),
    [
        ("openai/m", "http://gateway.example/v1", "local"),
        ("openai/m", "https://10.0.0.5/v1", "local"),
        ("groq/m", "http://localhost:8000", "local"),
        ("anthropic/m", "http://localhost:8000", "local"),
        ("openai/m", "https://gateway.example/v1", None),  # None: DSPy reads the provider's variable
        ("openai/m", None, None),
    ],
)
def test_which_address_gets_the_providers_key(spec, api_base, sent, monkeypatch):
    for name in KEY_VARIABLES:
        monkeypatch.setenv(name, "sk-of-the-provider")
    assert make_lm(spec, api_base=api_base).lm.kwargs.get("api_key") == sent


def test_an_address_from_the_environment_gets_the_environments_key(lm_stub, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", lm_stub.root)
    monkeypatch.setenv("OPENAI_API_KEY", "both-from-there")
    assert make_lm("openai/local-model", cache=False).lm("hello") == ["ready"]
    assert lm_stub.requests[-1][1]["Authorization"] == "Bearer both-from-there"


def test_a_password_in_the_address_reaches_neither_label_nor_lm(lm_stub):
    said = []
    root = lm_stub.root.replace("//", "//user:pa55@")
    backend = make_lm("openai/local-model", api_base=root, cache=False, notify=said.append)
    assert backend.lm("hello") == ["ready"]
    assert "pa55" not in f"{backend} {backend.lm.kwargs} {said}"
    assert "left out" in said[0]


@pytest.mark.parametrize("spec", ["openai/local-model", "hosted_vllm/local-model", "ollama_chat/local-model"])
def test_every_prefix_reaches_the_same_place_from_the_same_address(spec, lm_stub):
    assert make_lm(spec, api_base=lm_stub.root, cache=False).lm("hello") == ["ready"]
    assert lm_stub.requests[-1][0] == "/v1/chat/completions"


def test_an_address_in_the_environment_does_not_bring_in_the_other_engine(lm_stub, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", lm_stub.root)
    assert make_lm("openai/local-model", cache=False).lm("hello") == ["ready"]
    assert lm_stub.requests[-1][0] == "/v1/chat/completions"


def test_the_cache_key_tells_servers_apart_but_not_ports():
    def rollout(**options):
        return make_lm("openai/m", **options).lm.kwargs.get("rollout_id")

    here = rollout(api_base="http://localhost:8000")
    assert here == rollout(api_base="http://localhost:9000")
    assert here != rollout(api_base="http://10.0.0.5:8000")
    assert here != rollout(api_base="http://localhost:8000", label="quantised")
    assert rollout(api_key="k") is None


def test_making_an_lm_at_temperature_zero_warns_about_nothing(recwarn):
    make_lm("openai/m", api_base="http://localhost:8000")
    assert [str(warning.message) for warning in recwarn] == []


def test_a_reasoning_model_gets_no_temperature_and_room_to_think():
    said = []
    lm = make_lm("openai/gpt-5", api_key="k", temperature=0.0, max_tokens=100, notify=said.append).lm
    assert lm.kwargs.get("temperature") is None
    assert lm.kwargs["max_completion_tokens"] == 16_000
    assert "reasoning model" in said[0]


def test_local_takes_no_address_and_needs_a_real_file(tmp_path):
    with pytest.raises(UsageError, match="no --api-base"):
        make_lm("local", api_base="http://localhost:8000")
    with pytest.raises(UsageError, match="lacks the path"):
        make_lm("local:")
    pytest.importorskip("xllamacpp")
    with pytest.raises(UserError, match="No such file"):
        make_lm(f"local:{tmp_path / 'missing.gguf'}")
    (tmp_path / "other.gguf").write_text("not a model")
    with pytest.raises(UserError, match="no GGUF model file"):
        make_lm(f"local:{tmp_path / 'other.gguf'}")


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (401, {"error": {"message": "Incorrect API key provided: sk-abcdefgh12345678"}}, "refused the API key"),
        (404, {"error": {"message": "model not found"}}, "not known there"),
        (404, {"error": {"message": "no such page"}}, "not known there"),
        (429, {"error": {"message": "slow down"}}, "limits the rate"),
        (500, {"error": {"message": "boom\nTraceback"}}, "failed on its own side"),
        (400, {"error": {"message": "bad field"}}, "refused the request: HTTP 400: bad field"),
        (400, {"error": {"message": "too long", "code": "context_length_exceeded"}}, "longer than the context window"),
    ],
)
def test_each_failure_is_one_line_with_its_cause_and_no_key(lm_stub, status, error, words):
    lm_stub.status, lm_stub.error = status, error
    backend = make_lm("openai/local-model", api_base=lm_stub.root, num_retries=0, cache=False)
    with pytest.raises(dspy.LMError) as caught:
        backend.lm("hello")
    line = explain_lm_error(caught.value, base_url=backend.base_url)
    assert words in line
    assert backend.base_url in line
    assert "\n" not in line
    assert "abcdefgh" not in line


def closed_address() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_refused_connection_and_a_silent_server_are_told_apart(lm_stub):
    with pytest.raises(dspy.LMError) as caught:
        make_lm("openai/m", api_base=closed_address(), num_retries=0, cache=False).lm("hello")
    assert "cannot be reached" in explain_lm_error(caught.value)
    lm_stub.hang = 2
    with pytest.raises(dspy.LMError) as caught:
        make_lm("openai/m", api_base=lm_stub.root, num_retries=0, timeout=0.2, cache=False).lm("hello")
    assert "did not answer in time" in explain_lm_error(caught.value)


def test_the_native_engine_is_used_and_litellm_never_loaded(lm_stub):
    code = (
        "import sys\n"
        "from executionrag.runs.backends import check_lm, make_lm\n"
        f"lm = make_lm('openai/local-model', api_base={lm_stub.root!r}, cache=False).lm\n"
        "check_lm(lm); lm('hello')\n"
        "assert 'litellm' not in sys.modules and 'xllamacpp' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
