"""`executionrag index`: make a corpus searchable."""

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, UserError
from ...retrievers.corpus import CHUNK_TOKENS, WHOLE_TOKENS, load_corpus, passages_from_rows
from ...retrievers.encoder_files import DEFAULT_ENCODER
from ...retrievers.manifest import MANIFEST
from .options import count, whole

if TYPE_CHECKING:
    from ...retrievers.passage import Passage
    from ..output import Console

_BENCHMARKS = "minihop (comes with the package), musique:FILE.jsonl (the pooled paragraphs of its questions)"


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
    parser.add_argument("--benchmark", metavar="NAME", help=f"a benchmark's corpus instead: {_BENCHMARKS}")
    parser.add_argument("--out", metavar="DIR", help="the folder to make")
    parser.add_argument("--overwrite", action="store_true", help="replace an index that stands there")
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        default=DEFAULT_ENCODER,
        help=f"a sentence-transformers name or folder (default: {DEFAULT_ENCODER})",
    )
    parser.add_argument(
        "--granularity",
        choices=("passage", "sentence"),
        default="passage",
        help="what is embedded (default: passage)",
    )
    parser.add_argument(
        "--chunk-tokens",
        type=whole(1),
        metavar="N",
        help="split every text longer than this on sentence ends (default: files into pieces of "
        f"{CHUNK_TOKENS}, JSON Lines and benchmark passages whole up to {WHOLE_TOKENS:,})",
    )
    parser.add_argument("--progress", action="store_true", help="draw the progress bar even into a file")


def run(args: argparse.Namespace, console: "Console") -> int:
    """Build the index."""
    if (args.corpus is None) == (args.benchmark is None):
        raise UsageError("give the documents with --corpus PATH, or a benchmark with --benchmark NAME, and not both")
    if not args.out:
        raise UsageError("give the folder for the index with --out DIR")
    out = Path(args.out)
    if (out / MANIFEST).is_file() and not args.overwrite:
        raise UserError(f"{out}: an index stands there already; replace it with --overwrite, or give another --out")
    started = time.perf_counter()
    if args.corpus is not None:
        passages = load_corpus(Path(args.corpus), **_sizes(args.chunk_tokens))
    else:
        passages = _benchmark_passages(args.benchmark, args.chunk_tokens)
    console.note(f"{count(len(passages), 'passage')} to index; loading the encoder {args.encoder} …")
    from ...retrievers.index import Index
    from ...retrievers.manifest import read_manifest

    total = len(passages) if args.granularity == "passage" else None
    with console.err.progress("embedding", "texts", total=total, force=args.progress) as progress:
        index = Index.build(
            passages,
            out,
            encoder=args.encoder,
            granularity=args.granularity,
            progress=progress,
            overwrite=args.overwrite,
        )
    seconds = time.perf_counter() - started
    vectors = count(read_manifest(out).vectors, "vector")
    console.out.line(
        f"Indexed {count(len(index), 'passage')} ({vectors}) in {seconds:.1f} s: {out} (digest {index.digest[:12]})"
    )
    console.out.line(f'Next: executionrag ask "…?" --index {shlex.quote(str(out))} --lm local')
    return 0


def _sizes(chunk_tokens: int | None) -> dict[str, int]:
    """The splitting that was asked for; none where the default is to hold."""
    return {} if chunk_tokens is None else {"chunk_tokens": chunk_tokens, "whole_tokens": chunk_tokens}


def _benchmark_passages(spec: str, chunk_tokens: int | None) -> "list[Passage]":
    """The corpus of a benchmark."""
    from ..benchmarks.benchmark import Benchmark
    from ..benchmarks.minihop import MiniHop
    from ..benchmarks.musique import load_musique

    kind, _, path = spec.partition(":")
    if kind == "minihop" and not path:
        benchmark = MiniHop
    elif kind == "musique" and path:
        questions = tuple(load_musique(path))
        pooled = tuple(paragraph for question in questions for paragraph in question.context)
        benchmark = Benchmark(name="MuSiQue", train=(), dev=questions, passages=pooled, prefix="musique")
    else:
        raise UsageError(f"--benchmark {spec}: unknown; it takes {_BENCHMARKS}")
    return passages_from_rows(benchmark.corpus, **_sizes(chunk_tokens))
