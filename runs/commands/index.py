"""`executionrag index`: make a corpus searchable."""

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError
from ...retrievers.corpus import CHUNK_TOKENS, WHOLE_TOKENS, load_corpus
from ...retrievers.encoder_files import DEFAULT_ENCODER
from ...retrievers.manifest import MANIFEST
from .options import count, whole

if TYPE_CHECKING:
    from ...retrievers.building import Changes
    from ...retrievers.index import Index
    from ...retrievers.passage import Passage
    from ..output import Console


def add_parser(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "index",
        parents=[common],
        help="make a corpus searchable",
        description="Embed a corpus and write a searchable index folder.",
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "--corpus", metavar="PATH", help="a JSONL file of objects with title and text, or a folder of .txt and .md"
    )
    parser.add_argument(
        "--benchmark",
        metavar="SPEC",
        help="a benchmark's corpus: minihop, or the pooled passages of musique:FILE, hotpotqa:FILE, 2wiki:FILE, "
        "arag:FOLDER; with --corpus, that file is the corpus and the benchmark's gold is looked for in it",
    )
    parser.add_argument("--out", metavar="DIR", help="the folder to make")
    standing = parser.add_mutually_exclusive_group()
    standing.add_argument(
        "--update",
        action="store_true",
        help="embed only what the index that stands there does not hold; what the corpus no longer has goes",
    )
    standing.add_argument(
        "--rebuild",
        "--overwrite",
        action="store_true",
        help="replace an index that stands there, of whatever format, with a new one of the corpus",
    )
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        default=DEFAULT_ENCODER,
        help=f"a sentence-transformers name or folder (default: {DEFAULT_ENCODER})",
    )
    parser.add_argument(
        "--backend",
        choices=("torch", "onnx"),
        default="torch",
        help="what computes the vectors; both give the same within 1e-5 (default: torch)",
    )
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16"),
        default="float32",
        help="the numbers it computes in: float32 makes the same index on every machine, bfloat16 is faster on a CPU "
        "that has its instructions (default: float32)",
    )
    parser.add_argument(
        "--granularity",
        choices=("passage", "sentence"),
        default="passage",
        help="what is embedded (default: passage)",
    )
    parser.add_argument(
        "--dense",
        choices=("auto", "flat", "hnsw"),
        default="auto",
        help="how vectors are searched: flat, exactly; hnsw, by a graph, faster above some 100,000 and in need of more "
        "memory while it is made; auto, a graph above 100,000 (default: auto)",
    )
    parser.add_argument(
        "--chunk-tokens",
        type=whole(1),
        metavar="N",
        help="split every text longer than this on sentence ends (default: files into pieces of "
        f"{CHUNK_TOKENS}, JSON Lines and benchmark passages whole up to {WHOLE_TOKENS:,})",
    )
    parser.add_argument(
        "--allow-missing-gold", action="store_true", help="index though gold passages of the benchmark are missing"
    )
    parser.add_argument(
        "--graph", action="store_true", help="make the entity graph of graph-rag now (else at its first search)"
    )
    parser.add_argument("--progress", action="store_true", help="draw the progress bar even into a file")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Build the index."""
    if args.corpus is None and args.benchmark is None:
        raise UsageError("give the documents with --corpus PATH, a benchmark with --benchmark SPEC, or both")
    if not args.out:
        raise UsageError("give the folder for the index with --out DIR")
    if args.backend == "onnx" and args.dtype == "bfloat16":
        raise UsageError("--backend onnx computes in float32 only; give --backend torch for --dtype bfloat16")
    out = Path(args.out)
    if (out / MANIFEST).is_file() and not (args.rebuild or args.update):
        raise UserError(
            f"{out}: an index stands there already; bring it up to date with --update, replace it with --rebuild, or "
            "give another --out"
        )
    started = time.perf_counter()
    if args.benchmark is not None:
        passages = _benchmark_passages(
            args.benchmark, args.corpus, args.chunk_tokens, console, allow_missing=args.allow_missing_gold
        )
    else:
        passages = load_corpus(Path(args.corpus), **_sizes(args.chunk_tokens))
    console.note(f"{count(len(passages), 'passage')} to index; loading the encoder {args.encoder} …")
    from ...retrievers.index import Index

    updates = args.update and (out / MANIFEST).is_file()
    changes = _build(passages, out, args, console, updates=updates)
    index = Index.load(out)
    seconds = time.perf_counter() - started
    _say(changes, index, seconds, console, updated=updates)
    if args.graph:
        started = time.perf_counter()
        graph = index.graph
        console.out.line(
            f"Entity graph: {count(len(graph.edges), 'link')} of passages to {len(graph.entities):,} entities "
            f"in {time.perf_counter() - started:.1f} s"
        )
    console.out.line(f'Next: executionrag ask "…?" --index {shlex.quote(str(out))} --lm local')
    return 0


def _build(
    passages: "list[Passage]", out: Path, args: argparse.Namespace, console: "Console", *, updates: bool
) -> "Changes":
    """Build or update, saying what is known already; an interruption says what is kept."""
    from ...retrievers.building import build_index
    from ...retrievers.embedded import folder_beside

    def planned(changes: "Changes") -> None:
        if updates or changes.resumed:
            console.note(f"{count(changes.embedded, 'text')} to embed; {_known(changes, updated=updates)}")

    whole_passages = args.granularity == "passage" and not updates
    with console.err.progress(
        "embedding", "texts", total=len(passages) if whole_passages else None, force=args.progress
    ) as progress:
        try:
            return build_index(
                passages,
                out,
                encoder=args.encoder,
                granularity=args.granularity,
                progress=progress,
                overwrite=args.rebuild,
                update=args.update,
                backend=args.backend,
                dtype=args.dtype,
                dense_kind=args.dense,
                planned=planned,
            )
        except KeyboardInterrupt:
            kept = folder_beside(out.resolve() if out.is_symlink() else out)
            if kept.is_dir():
                console.err.line(f"what is embedded is kept in {kept}; the same command goes on from there")
            raise


def _known(changes: "Changes", *, updated: bool) -> str:
    """Where the vectors come from that are not embedded now."""
    parts = [f"{changes.resumed:,} kept of an interrupted run"] if changes.resumed else []
    if updated:
        parts = [f"{changes.kept:,} kept", *parts, f"{changes.removed:,} removed"]
    return ", ".join(parts)


def _say(changes: "Changes", index: "Index", seconds: float, console: "Console", *, updated: bool) -> None:
    """What was done, in a line."""
    if changes.unchanged:
        console.out.line(f"Nothing has changed: {index.path} is left as it is (digest {index.digest[:12]})")
        return
    vectors = count(changes.embedded + changes.kept + changes.resumed, "vector")
    if updated or changes.resumed:
        vectors += f": {changes.embedded:,} embedded, {_known(changes, updated=updated)}"
    console.out.line(
        f"{'Updated' if updated else 'Indexed'} {count(len(index), 'passage')} ({vectors}) in {seconds:.1f} s: "
        f"{index.path} (digest {index.digest[:12]})"
    )


def _sizes(chunk_tokens: int | None) -> dict[str, int]:
    """The splitting that was asked for; none where the default is to hold."""
    return {} if chunk_tokens is None else {"chunk_tokens": chunk_tokens, "whole_tokens": chunk_tokens}


def _benchmark_passages(
    spec: str, corpus: str | None, chunk_tokens: int | None, console: "Console", *, allow_missing: bool
) -> "list[Passage]":
    """The corpus of a benchmark, its own or the file that is given for it; says what of its gold is there.

    Raises:
        UserError: Some gold passage is not in the corpus, and that is not allowed.
    """
    from ..benchmarks.corpus_file import read_corpus
    from ..benchmarks.gold import map_gold
    from ..benchmarks.load import corpus_passages, load_benchmark

    benchmark = load_benchmark(spec, to_measure=False)
    if corpus is None:
        passages = corpus_passages(benchmark, spec, **_sizes(chunk_tokens))
    else:
        passages = read_corpus(corpus, **_sizes(chunk_tokens))
    gold = map_gold(benchmark.dev, passages, corpus or spec)
    found = f"{gold.mapped:,} of {count(gold.total, 'gold passage')} of {spec} are in the corpus"
    if gold.mapped < gold.total and not allow_missing:
        raise UserError(
            f"{found}; give the benchmark's own corpus (executionrag benchmark lists what is missing), or go on with "
            "--allow-missing-gold"
        )
    if gold.unmapped or gold.ambiguous:
        doubts = f", {len(gold.ambiguous):,} of them ambiguous" if gold.ambiguous else ""
        console.warn(f"{found}{doubts}; executionrag benchmark lists the others")
    else:
        console.note(f"{found}.")
    return passages
