"""The look at an LM before a question: free where models are listed, and each failure one line with its remedy."""

import contextlib
import http.client
import socket
import threading

import pytest

from executionrag.errors import UserError
from executionrag.runs.backends import make_lm
from executionrag.runs.lm_errors import explain_lm_error
from executionrag.runs.preflight import check_lm


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "OLLAMA_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def closed_address() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_the_check_costs_no_completion_where_the_server_lists_the_model(lm_stub):
    check_lm(make_lm("openai/local-model", api_base=lm_stub.root).lm)
    assert lm_stub.completions == []


def test_the_check_names_what_a_server_serves_instead(lm_stub):
    lm_stub.status, lm_stub.error = 404, {"error": {"message": "no such model"}}
    with pytest.raises(UserError, match="did you mean local-model") as caught:
        check_lm(make_lm("openai/locl-model", api_base=lm_stub.root).lm)
    assert "\n" not in str(caught.value)


def test_the_check_accepts_an_unlisted_name_that_the_server_answers_to(lm_stub):
    check_lm(make_lm("openai/alias", api_base=lm_stub.root).lm)
    lm_stub.models = None
    check_lm(make_lm("openai/local-model", api_base=lm_stub.root).lm)
    assert [body["model"] for body in lm_stub.completions] == ["alias", "local-model"]


def test_the_check_accepts_ollamas_tag_and_llamacpps_any_name(lm_stub):
    lm_stub.models = [{"id": "llama3.2:latest", "object": "model", "owned_by": "library"}]
    check_lm(make_lm("ollama_chat/llama3.2", api_base=lm_stub.root).lm)
    lm_stub.models = [{"id": "/models/x.gguf", "object": "model", "owned_by": "llamacpp"}]
    check_lm(make_lm("openai/whatever", api_base=lm_stub.root).lm)
    assert lm_stub.completions == []


def test_the_check_refuses_at_once_what_cannot_work(lm_stub):
    with pytest.raises(UserError, match="cannot be reached"):
        check_lm(make_lm("openai/m", api_base=closed_address()).lm)
    lm_stub.key = "right"
    with pytest.raises(UserError, match="refused the API key") as caught:
        check_lm(make_lm("openai/local-model", api_base=lm_stub.root, api_key="wrong").lm)
    assert "abcdefgh" not in str(caught.value)
    check_lm(make_lm("openai/local-model", api_base=lm_stub.root, api_key="right").lm)


def test_a_server_that_wants_a_key_and_got_none_says_how_to_name_it(lm_stub):
    lm_stub.key = "right"
    with pytest.raises(UserError, match="asks for an API key: name the variable that holds it with --api-key-env"):
        check_lm(make_lm("openai/local-model", api_base=lm_stub.root).lm)


@pytest.mark.parametrize(
    ("entry", "pages", "window"),
    [
        ({"owned_by": "vllm", "max_model_len": 4096}, {}, 4096),
        ({"owned_by": "llamacpp", "meta": {"n_ctx": 2048}}, {}, 2048),
        ({"owned_by": "llamacpp", "meta": None}, {"/props": {"default_generation_settings": {"n_ctx": 512}}}, 512),
        ({"owned_by": "library"}, {"/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]}}, 4096),
        ({"owned_by": "library"}, {"/api/ps": {"models": [{"name": "other", "context_length": 4096}]}}, None),
        ({"owned_by": "library"}, {"/api/ps": {"models": ["odd", None]}}, None),
        ({"owned_by": "x", "max_model_len": True, "meta": []}, {"/props": {"default_generation_settings": []}}, None),
    ],
)
def test_the_check_gives_the_context_window_that_a_server_states(lm_stub, entry, pages, window):
    lm_stub.models, lm_stub.pages = [{"id": "m", "object": "model", **entry}], pages
    assert check_lm(make_lm("openai/m", api_base=lm_stub.root).lm) == window


def test_ollama_is_asked_to_load_a_model_for_only_then_it_tells_its_window(lm_stub):
    loaded = {"models": []}
    lm_stub.models = [{"id": "m:latest", "object": "model", "owned_by": "library"}]

    def load():
        loaded["models"] = [{"name": "m:latest", "context_length": 4096}]
        return {"done": True}

    lm_stub.pages = {"/api/ps": lambda: loaded, "/api/generate": load}
    assert check_lm(make_lm("ollama_chat/m", api_base=lm_stub.root).lm) == 4096
    assert ("/api/generate", {"model": "m"}) in [(path, body) for path, _, body in lm_stub.requests]


@pytest.fixture
def raw_server():
    """A function that starts a server answering every request with the bytes given."""
    listeners = []

    def serve(reply):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        request = connection.recv(65536)
                        connection.sendall(reply(request) if callable(reply) else reply)

        threading.Thread(target=answer, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield serve
    for listener in listeners:
        listener.close()


HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "reply",
    [b"SSH-2.0-OpenSSH_9.6\r\n", b"", b"HTTP/1.1 abc\r\n\r\n", HEAD + b"Content-Length: 500\r\n\r\n{"],
    ids=["another protocol", "nothing", "bad status", "cut short"],
)
def test_what_answers_but_speaks_no_http_is_one_clear_line(raw_server, reply):
    with pytest.raises(UserError, match="broke off or speaks no HTTP: are address and port right") as caught:
        check_lm(make_lm("openai/m", api_base=raw_server(reply), num_retries=0, cache=False).lm)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", [b"HTTP/1.1 abc\r\n\r\n", HEAD + b"Content-Length: 500\r\n\r\n{"])
def test_a_broken_answer_to_the_question_for_the_window_is_no_failure(raw_server, bad):
    models = b'{"object": "list", "data": [{"id": "m", "object": "model"}]}'
    listed = HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(models), models)
    root = raw_server(lambda request: listed if b"/v1/models" in request else bad)
    assert check_lm(make_lm("openai/m", api_base=root).lm) is None


@pytest.mark.parametrize("error", [http.client.IncompleteRead(b"x"), http.client.BadStatusLine("y")])
def test_an_http_error_of_the_standard_library_is_explained_too(error):
    assert "broke off or speaks no HTTP" in explain_lm_error(error, base_url="http://h/v1")
