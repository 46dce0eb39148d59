"""The doctor's findings: what is seen, what is wrong with it, and never a key."""

import hashlib

import pytest

from executionrag.runs.doctor import Finding, diagnose


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    assert len({finding.name for finding in findings}) == len(findings)
    assert not any("\n" in finding.value + finding.remedy for finding in findings)
    return {finding.name: finding for finding in findings}


def test_a_healthy_server_is_described_from_address_to_context_window(lm_stub):
    lm_stub.models = [{"id": "local-model", "object": "model", "owned_by": "vllm", "max_model_len": 32768}]
    lm_stub.reply = '{"colour": "qx-7"}'
    findings = by_name(diagnose("openai/local-model", api_base=lm_stub.root, api_key="secret-key"))
    assert not [finding for finding in findings.values() if finding.ok is False]
    assert findings["address"].value == f"{lm_stub.root}/v1"
    assert findings["key"].value == "named by --api-key-env"
    assert findings["model"].value == "local-model is served"
    assert findings["context window"].value == "32768 tokens"
    assert "honoured by the server, but DSPy does not send it" in findings["structured output"].value
    assert not any("secret-key" in f"{finding}" for finding in findings.values())
    sent = lm_stub.completions[-1]["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["strict"] is True


def test_a_server_that_ignores_the_schema_is_seen(lm_stub):
    findings = by_name(diagnose("openai/local-model", api_base=lm_stub.root))
    assert findings["structured output"].value == "not honoured by the server"
    assert findings["context window"].value == "not stated by the server"


def test_a_small_context_window_is_a_fault(lm_stub):
    lm_stub.models = [{"id": "local-model", "object": "model", "max_model_len": 2048}]
    finding = by_name(diagnose("openai/local-model", api_base=lm_stub.root))["context window"]
    assert (finding.value, finding.ok) == ("2048 tokens", False)
    assert "num_ctx" in finding.remedy


def test_a_key_that_is_kept_back_from_an_address_is_said(lm_stub, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-provider")
    findings = by_name(diagnose("openai/local-model", api_base=lm_stub.root.replace("//", "//user:word@")))
    assert findings["key"].value == (
        "none: OPENAI_API_KEY is kept from a private or plain-http address (--api-key-env sends one)"
    )
    assert not any("word@" in f"{finding}" or "sk-of" in f"{finding}" for finding in findings.values())


def test_an_unlisted_model_that_fails_names_the_listed_ones(lm_stub):
    lm_stub.status, lm_stub.error = 404, {"error": {"message": "no such model"}}
    findings = by_name(diagnose("openai/local-modle", api_base=lm_stub.root))
    assert findings["model"].remedy == "did you mean local-model?"
    assert findings["reply"].ok is False


def test_a_refused_key_and_an_unreachable_server_end_the_list_with_the_remedy(lm_stub):
    lm_stub.key = "right"
    last = diagnose("openai/local-model", api_base=lm_stub.root)[-1]
    assert (last.name, last.ok) == ("server", False)
    assert "refused the API key" in last.remedy
    last = diagnose("openai/m", api_base="http://127.0.0.1:9")[-1]
    assert "cannot be reached" in last.remedy


def test_a_missing_key_and_a_bare_name_are_findings_and_not_errors():
    assert "OPENAI_API_KEY" in diagnose("openai/gpt-4o-mini")[-1].remedy
    assert "openai/gpt-4o-mini" in diagnose("gpt-4o-mini")[-1].remedy


def test_local_without_its_model_says_so_and_downloads_nothing(tmp_path, monkeypatch):
    pytest.importorskip("xllamacpp")
    monkeypatch.setenv("EXECUTIONRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("EXECUTIONRAG_LM_THREADS", "3")
    findings = by_name(diagnose("local", notify=pytest.fail))
    assert findings["threads"].value == "3"
    assert findings["runtime"].ok
    assert findings["model file"].ok is False
    assert "1.1 GB" in findings["model file"].remedy
    assert not (tmp_path / "cache").exists()


def test_a_damaged_model_in_the_cache_is_seen_by_its_digest(tmp_path, monkeypatch):
    pytest.importorskip("xllamacpp")
    monkeypatch.setenv("EXECUTIONRAG_CACHE", str(tmp_path))
    digest = hashlib.sha256(b"GGUF good").hexdigest()
    monkeypatch.setenv("EXECUTIONRAG_LM_SHA256", digest)
    path = tmp_path / "models" / f"qwen2.5-coder-1.5b-instruct-q4_k_m-{digest[:12]}.gguf"
    path.parent.mkdir()
    path.write_bytes(b"GGUF evil")
    findings = by_name(diagnose("local"))
    assert findings["model digest"].ok is False
    assert str(path) in findings["model digest"].remedy


@pytest.mark.parametrize("threads", ["0", "-1", "two"])
def test_a_thread_count_that_is_none_is_a_finding(threads, monkeypatch):
    monkeypatch.setenv("EXECUTIONRAG_LM_THREADS", threads)
    assert by_name(diagnose("local:/missing.gguf"))["threads"].ok is False
