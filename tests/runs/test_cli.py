"""The command line, as a person uses it: over real indexes, with a scripted LM behind a loopback server."""

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from executionrag.runs.benchmarks.minihop import DEMO_QUESTIONS, MiniHop
from executionrag.runs.cli import main

QUESTION = "Who composed The Salt Choir?"
CLI = [sys.executable, "-m", "executionrag.runs.cli"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def surroundings(command_line, cache):
    """An empty working folder, no keys, and a cache folder that these tests share."""
    command_line.setenv("EXECUTIONRAG_CACHE", str(cache))
    command_line.setenv("COLUMNS", "100")


def reply_to(body, answer="Ana Kell"):
    """What a well-behaved LM replies: one requirement, resolved by the first passage shown."""
    system, user = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "output fields" not in system:
        return "ready"
    outputs = system.split("output fields")[1].split("structured in")[0]
    aliases = re.findall(r"(?m)^\[(P\d+)\]", user)
    target = re.search(r"## target ## \]\]\n(R\d+)", user)
    known = {
        "requirements": [{"text": QUESTION, "needs": [], "support": [], "answer": ""}],
        "query": "The Salt Choir composer",
        "tool": "keyword_search",
        "updates": [
            {
                "id": target[1] if target else "",
                "note": "",
                "support": aliases[:1],
                "answer": answer,
                "status": "resolved",
                "reason": "",
            }
        ],
        "abstained": "false",
        "answer": answer,
        "explanation": "Stated in [P1].",
    }
    fields = re.findall(r"`(\w+)` \(([^)]*)", outputs)
    values = {name: known.get(name, "a thought" if kind == "str" else []) for name, kind in fields}
    filled = (f"[[ ## {name} ## ]]\n{v if isinstance(v, str) else json.dumps(v)}" for name, v in values.items())
    return "\n\n".join(filled) + "\n\n[[ ## completed ## ]]"


@pytest.fixture
def lm(lm_stub):
    """The loopback server, replying as `reply_to` does; `lm.fails_on` makes requests that hold this text fail."""

    class Scripted(type(lm_stub)):
        fails_on = ""
        answer = "Ana Kell"

        @property
        def reply(self):
            return reply_to(self.requests[-1][2], self.answer)

        @property
        def status(self):
            return 400 if self.fails_on and self.fails_on in json.dumps(self.requests[-1][2]) else 200

    del lm_stub.__dict__["reply"], lm_stub.__dict__["status"]
    lm_stub.__class__ = Scripted
    lm_stub.error = {"error": {"message": "this model takes no such request at all", "type": "invalid"}}
    return lm_stub


@pytest.fixture
def ask(small_index, lm):
    """`ask(*more)` runs `executionrag ask` over the small index and gives the exit code."""

    def run(*more, question=QUESTION):
        lm_options = ["--lm", "openai/local-model", "--api-base", lm.root]
        return main(["ask", question, "--index", str(small_index.path), *lm_options, *more])

    return run


class TestStart:
    def test_help_loads_nothing_heavy(self):
        code = (
            "import sys\nfrom executionrag.runs.cli import main\n"
            "codes = [main([*command, '--help']) for command in ([], ['index'], ['ask'], ['doctor'], ['demo'])]\n"
            "heavy = {'dspy', 'torch', 'sentence_transformers', 'transformers', 'mlflow', 'datasets', 'litellm'}\n"
            "heavy |= {'numpy', 'faiss', 'bm25s', 'jinja2', 'pydantic', 'tqdm', 'xllamacpp'}\n"
            "print('codes', codes, 'heavy', sorted(heavy & set(sys.modules)), file=sys.stderr)"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert run.stderr.strip() == "codes [0, 0, 0, 0, 0] heavy []"
        for word in ("index", "ask", "doctor", "demo", "--corpus", "--max-context-tokens", "--api-key-env"):
            assert word in run.stdout
        assert run.stdout.isascii()

    def test_without_a_command_the_help_is_shown(self, capsys):
        assert main([]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "executionrag demo" in err

    def test_version(self, capsys):
        assert main(["--version"]) == 0
        assert re.fullmatch(r"executionrag \d+\.\d+\S*\n", capsys.readouterr().out)


class TestIndex:
    def test_a_jsonl_file_is_indexed_and_the_next_command_named(self, tmp_path, capsys):
        rows = [{"title": "Ana Kell", "text": "Ana Kell was a composer."}, {"title": "Orrim", "text": "A town."}]
        (tmp_path / "docs.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
        assert main(["index", "--corpus", "docs.jsonl", "--out", "my index"]) == 0
        out, err = capsys.readouterr()
        first, second = out.splitlines()
        assert re.fullmatch(r"Indexed 2 passages \(2 vectors\) in \d+\.\d s: my index \(digest [0-9a-f]{12}\)", first)
        assert second == "Next: executionrag ask \"…?\" --index 'my index' --lm local"
        assert err.splitlines() == ["2 passages to index; loading the encoder all-MiniLM-L6-v2 …"]

    def test_an_index_is_replaced_only_when_told(self, tmp_path, capsys):
        (tmp_path / "a.txt").write_text("One document.")
        command = ["index", "--corpus", "a.txt", "--out", "idx"]
        assert main(command) == 0
        assert main(command) == 1
        assert "replace it with --rebuild" in capsys.readouterr().err
        assert main([*command, "--overwrite"]) == 0

    def test_an_update_says_what_it_embedded_kept_and_removed(self, tmp_path, capsys):
        (tmp_path / "docs").mkdir()
        for name in "abc":
            (tmp_path / "docs" / f"{name}.txt").write_text(f"Document {name}.")
        command = ["index", "--corpus", "docs", "--out", "idx", "--update"]
        assert main(command) == 0
        assert capsys.readouterr().out.startswith("Indexed 3 passages (3 vectors) in ")
        (tmp_path / "docs" / "a.txt").unlink()
        (tmp_path / "docs" / "d.txt").write_text("Document d.")
        assert main(command) == 0
        out, err = capsys.readouterr()
        assert out.startswith("Updated 3 passages (3 vectors: 1 embedded, 2 kept, 1 removed) in ")
        assert err.splitlines()[1] == "1 text to embed; 2 kept, 1 removed"
        assert main(command) == 0
        assert capsys.readouterr().out.startswith("Nothing has changed: idx is left as it is (digest ")
        assert main([*command, "--rebuild"]) == 2

    def test_sentences_and_a_forced_bar(self, tmp_path, capsys):
        (tmp_path / "a.txt").write_text("One sentence stands here. Another one follows it.")
        arguments = ["index", "--corpus", "a.txt", "--out", "idx", "--granularity", "sentence", "--progress"]
        assert main(arguments) == 0
        out, err = capsys.readouterr()
        assert "1 passage (2 vectors)" in out
        assert "embedding: 100%" in err

    def test_a_benchmark_gives_its_pooled_paragraphs(self, tmp_path, capsys):
        paragraphs = [
            {"idx": 0, "title": "Ana", "paragraph_text": "Ana composed.", "is_supporting": True},
            {"idx": 1, "title": "Orrim", "paragraph_text": "A town.", "is_supporting": False},
        ]
        hop = {"id": 1, "question": "Who composed?", "answer": "Ana", "paragraph_support_idx": 0}
        row = {"question": "Who composed?", "answer": "Ana", "paragraphs": paragraphs, "question_decomposition": [hop]}
        rows = [json.dumps({"id": f"2hop__{number}", **row}) for number in (1, 2)]
        (tmp_path / "musique.jsonl").write_text("\n".join(rows))
        assert main(["index", "--benchmark", "musique:musique.jsonl", "--out", "idx"]) == 0
        assert "Indexed 2 passages" in capsys.readouterr().out


class TestAsk:
    def test_the_story_is_told_and_the_answer_comes_last(self, ask, capsys):
        assert ask() == 0
        out, _ = capsys.readouterr()
        lines = out.splitlines()
        assert lines[1] == f"Question {QUESTION}"
        assert (
            "    + P1   The Salt Choir — The Salt Choir is an opera in three acts composed by Ana Kell for the…" in out
        )
        assert "  R1  ● active   Who composed The Salt Choir?" in lines
        assert "  keyword search: The Salt Choir composer" in lines
        assert any(line.startswith("  → R1  ✓ resolved Ana Kell [P1]") for line in lines)
        assert "Answer  Ana Kell" in lines
        assert lines[-2] == "Stopped resolved: every requirement is settled"
        assert re.fullmatch(r"Cost    1 loop · 4 LM calls · 12 prompt \+ 4 completion tokens · \d+\.\d s", lines[-1])

    def test_json_is_alone_on_stdout_and_the_story_on_stderr(self, ask, capsys):
        assert ask("--json") == 0
        out, err = capsys.readouterr()
        made = json.loads(out)
        assert (made["answer"], made["stop_reason"], made["error"]) == ("Ana Kell", "resolved", None)
        assert made["retrieved_ids"][0] == "salt"
        assert made["passages"]["salt"]["title"] == "The Salt Choir"
        assert made["usage"]["calls"] == 4
        assert made["settings"]["lm"] == "openai/local-model@127.0.0.1"
        assert "Answer  Ana Kell" in err

    def test_json_and_quiet_say_nothing_else(self, ask, capsys):
        assert ask("--json", "--quiet") == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert json.loads(out)["answer"] == "Ana Kell"

    def test_quiet_gives_the_answer_alone(self, ask, capsys):
        assert ask("--quiet") == 0
        assert capsys.readouterr() == ("Ana Kell\n", "")

    def test_quiet_keeps_a_long_answer_on_one_line_in_a_narrow_terminal(self, ask, monkeypatch, capsys):
        prediction = SimpleNamespace(answer="The Provisional Commission for the Waters of the Lower Ilm", trajectory=[])
        monkeypatch.setattr("executionrag.runs.commands.ask.answer_live", lambda *_, **__: (prediction, ""))
        monkeypatch.setattr("executionrag.runs.answered.retrieved_passages", lambda *_: {})
        monkeypatch.setenv("COLUMNS", "40")
        assert ask("--quiet") == 0
        assert capsys.readouterr() == (f"{prediction.answer}\n", "")

    def test_the_encoder_can_be_named_at_another_place(self, ask, small_index, tmp_path, capsys):
        assert ask("--quiet", "--encoder", small_index.encoder_name) == 0
        assert capsys.readouterr().out == "Ana Kell\n"
        assert ask("--quiet", "--encoder", str(tmp_path / "nowhere")) == 1
        assert str(tmp_path / "nowhere") in capsys.readouterr().err

    @pytest.mark.parametrize(("window", "warned"), [(6000, ["warning: openai/local-model@127.0.0.1"]), (8192, [])])
    def test_a_window_reaches_the_program_and_a_small_one_is_warned_of_once(self, window, warned, ask, lm, capsys):
        lm.models = [{"id": "local-model", "object": "model", "owned_by": "vllm", "max_model_len": window}]
        assert ask("--json", "--quiet") == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["settings"]["context_window"] == window
        assert json.loads(out)["usage"]["effective_tokens"] == window - 2000
        assert [line.split(" has a context window of ")[0] for line in err.splitlines()] == warned
        assert ("OLLAMA_CONTEXT_LENGTH" in err) == bool(warned)

    def test_a_real_process_prints_json_that_a_program_can_read(self, small_index, lm):
        options = ["--lm", "openai/local-model", "--api-base", lm.root, "--json"]
        command = [*CLI, "ask", QUESTION, "--index", str(small_index.path), *options]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert json.loads(run.stdout)["answer"] == "Ana Kell"
        assert "Traceback" not in run.stderr

    def test_a_second_time_the_cached_replies_are_used_unless_told_otherwise(self, ask, lm, capsys):
        assert ask("--quiet") == 0
        asked = len(lm.completions)
        assert ask("--json", "--quiet") == 0
        assert len(lm.completions) == asked
        assert json.loads(capsys.readouterr().out.split("\n", 1)[1])["usage"]["cached_calls"] == 4
        assert ask("--quiet", "--no-cache") == 0
        assert len(lm.completions) == 2 * asked

    def test_limits_and_settings_arrive(self, ask, lm, capsys):
        assert ask("--max-loops", "0", "--k", "2", "--temperature", "0.5", "--max-tokens", "99", "--json") == 0
        made = json.loads(capsys.readouterr().out)
        assert made["stop_reason"] == "budget_loops"
        assert len(made["retrieved_ids"]) == 2
        assert {body["temperature"] for body in lm.completions} == {0.5}
        assert {body["max_completion_tokens"] for body in lm.completions} == {99}

    def test_the_page_is_written_too(self, ask, tmp_path):
        assert ask("--quiet", "--html", "pages/story.html") == 0
        assert "Ana Kell" in (tmp_path / "pages" / "story.html").read_text(encoding="utf-8")

    def test_a_key_comes_from_the_named_variable_and_is_shown_nowhere(self, ask, lm, monkeypatch, capsys):
        lm.key = "sk-very-secret-0123456789"
        monkeypatch.setenv("MY_KEY", lm.key)
        assert ask("--json", "--api-key-env", "MY_KEY", "--html", "story.html") == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["answer"] == "Ana Kell"
        assert "very-secret" not in out + err

    def test_a_failing_lm_ends_in_one_line_with_the_story_so_far(self, ask, lm, capsys):
        lm.fails_on = "tried_queries"
        assert ask() == 1
        out, err = capsys.readouterr()
        assert "  R1  ● active   Who composed The Salt Choir?" in out.splitlines()
        assert "Stopped lm_error: the language model failed" in out
        errors = [line for line in err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1
        assert f"openai/local-model at {lm.root}/v1" in errors[0]
        assert "this model takes no such request at all" in errors[0]

    def test_a_failing_lm_leaves_the_partial_json(self, ask, lm, capsys):
        lm.fails_on = "tried_queries"
        assert ask("--json", "--quiet") == 1
        made = json.loads(capsys.readouterr().out)
        assert made["stop_reason"] == "lm_error"
        assert "this model takes no such request at all" in made["error"]
        assert made["requirements"][0]["text"] == QUESTION

    def test_a_reader_that_goes_ends_it_quietly(self, small_index, lm):
        options = ["--lm", "openai/local-model", "--api-base", lm.root]
        command = [*CLI, "ask", QUESTION, "--index", str(small_index.path), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(timeout=120) == 1
        assert "error" not in err.lower()
        assert "Traceback" not in err

    def test_an_unexpected_error_is_one_line_and_debug_shows_where(self, ask, monkeypatch, capsys):
        def broken(*_, **__):
            raise RuntimeError("first line\nsecond line")

        monkeypatch.setattr("executionrag.program.execution_rag.ExecutionRAG.__init__", broken)
        assert ask("--quiet") == 1
        assert capsys.readouterr().err == "error: unexpected RuntimeError: first line (--debug shows where)\n"
        assert ask("--quiet", "--debug") == 1
        assert "in broken" in capsys.readouterr().err


class TestDoctor:
    def test_a_sound_index_and_a_ready_lm_pass(self, small_index, lm, capsys):
        options = ["--lm", "openai/local-model", "--api-base", lm.root, "--index", str(small_index.path)]
        assert main(["doctor", *options]) == 0
        out = capsys.readouterr().out
        assert "ok   files                  10 passages, passage granularity, nothing damaged" in out
        assert "ok   model                  local-model is served" in out
        assert "FAIL" not in out

    def test_what_fails_is_marked_with_its_remedy(self, tmp_path, capsys):
        assert main(["doctor", "--lm", "openai/x", "--index", "nowhere"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert "FAIL index                  not usable" in lines
        assert any(line.strip().startswith("→ nowhere: no such index folder") for line in lines)
        assert "FAIL LM                     openai/x" in lines
        assert any("set OPENAI_API_KEY" in line for line in lines)

    def test_alone_it_says_what_to_type_next(self, capsys):
        assert main(["doctor"]) == 0
        assert "executionrag doctor --lm SPEC" in capsys.readouterr().out


class TestDemo:
    @pytest.fixture
    def demo(self, lm):
        def run(*more):
            return main(["demo", "--lm", "openai/local-model", "--api-base", lm.root, "--max-loops", "2", *more])

        return run

    def test_it_answers_three_questions_and_sums_them_up(self, demo, lm, tmp_path, capsys):
        lm.answer = MiniHop.question(DEMO_QUESTIONS[0]).answer
        assert demo("--out", "out") == 0
        out, err = capsys.readouterr()
        results = out.split("── Results ")[1]
        assert "replies are not cached" in " ".join(err.split())
        for question_id in DEMO_QUESTIONS:
            question = MiniHop.question(question_id)
            assert question.question in " ".join(results.split())
            assert f"gold: {question.answer}" in results
        assert f"✓ right answer: {lm.answer} · gold: {lm.answer}" in results
        assert re.search(r"1 of 3 right · evidence found for \d of \d hops", results)
        assert re.search(r"resolved · 1 loop · 4 LM calls · 12 prompt \+ 4 completion tokens · \d+\.\d s", results)
        assert out.splitlines()[-1] == f"The same story as a page: {os.path.join('out', 'story.html')}"  # noqa: PTH118
        assert "gold, hop 1" in (tmp_path / "out" / "story.html").read_text(encoding="utf-8")

    def test_a_second_time_the_index_is_reused_and_the_lm_asked_again(self, demo, lm, capsys):
        assert demo() == 0
        asked = len(lm.completions)
        capsys.readouterr()
        assert demo() == 0
        assert "Indexing" not in capsys.readouterr().err
        assert len(lm.completions) == 2 * asked

    def test_a_damaged_index_is_built_again(self, demo, cache, capsys):
        assert demo("--questions", DEMO_QUESTIONS[0]) == 0
        manifest = next(cache.glob("indexes/*/manifest.json"))
        manifest.write_text("{}")
        capsys.readouterr()
        assert demo("--questions", DEMO_QUESTIONS[0]) == 0
        assert "built again" in capsys.readouterr().err

    def test_a_question_that_fails_does_not_stop_the_others(self, demo, lm, tmp_path, capsys):
        lm.fails_on = json.dumps(MiniHop.question(DEMO_QUESTIONS[1]).question)[1:-1]
        assert demo() == 1
        out, err = capsys.readouterr()
        results = out.split("── Results ")[1]
        assert results.count("✗ wrong answer: failed: ") == 1
        assert results.count(" · 4 LM calls · ") == 2
        assert len([line for line in err.splitlines() if line.startswith("error: ")]) == 1
        page = (tmp_path / "outputs" / "demo" / "story.html").read_text(encoding="utf-8")
        assert page.count("this model takes no such request at all") >= 1
