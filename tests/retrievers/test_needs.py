"""What a build is said to need grows with the corpus, and with a graph; what cannot be told is not made up."""

from hypothesis import given
from hypothesis import strategies as st

from executionrag.retrievers.needs import available_memory, estimate, free_disk

SIZES = st.integers(0, 10**7)


@given(texts=SIZES, size=SIZES, more=st.integers(1, 10**6), graph=st.booleans())
def test_more_texts_never_need_less(texts, size, more, graph):
    less, greater = (estimate(n, size, 384, 10**8, graph=graph) for n in (texts, texts + more))
    assert greater.memory >= less.memory
    assert greater.disk > less.disk


@given(texts=SIZES, size=SIZES)
def test_a_graph_never_needs_less_than_exact_search(texts, size):
    flat, graph = (estimate(texts, size, 384, 10**8, graph=which) for which in (False, True))
    assert graph.memory >= flat.memory
    assert graph.disk >= flat.disk


def test_a_graph_of_a_million_holds_its_vectors_in_memory_and_exact_search_does_not():
    vectors = 10**6 * 384 * 4
    flat, graph = (estimate(10**6, 10**8, 384, 10**8, graph=which) for which in (False, True))
    assert graph.memory - flat.memory >= vectors
    assert flat.disk >= vectors


def test_what_is_embedded_already_is_not_counted_as_needed_again():
    fresh, resumed = (estimate(10**6, 10**8, 384, 10**8, graph=False, missing=n).disk for n in (10**6, 10**4))
    assert fresh - resumed == (10**6 - 10**4) * 384 * 4
    assert fresh == estimate(10**6, 10**8, 384, 10**8, graph=False).disk


def test_a_graph_of_vectors_by_onnx_needs_the_weights_once_more():
    torch, onnx = (estimate(10, 100, 384, 10**9, graph=True, onnx=which).memory for which in (False, True))
    assert onnx - torch == 10**9
    assert estimate(10, 100, 384, 10**9, graph=False, onnx=True) == estimate(10, 100, 384, 10**9, graph=False)


def test_free_disk_is_told_for_a_place_that_does_not_exist_yet(tmp_path):
    free = free_disk(tmp_path / "not" / "there")
    assert free is not None
    assert free > 0


def test_memory_is_a_positive_number_or_unknown():
    available = available_memory()
    assert available is None or available > 0
