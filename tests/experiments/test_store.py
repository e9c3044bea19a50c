"""The store keeps what it is given, once, and touches nothing that is not its own."""

import errno
import os
import sqlite3
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inalu.errors import InvalidArgument, StoreError
from inalu.experiments.record import Initialisation, Record, Setting
from inalu.experiments.store import Store, one_program, read_frame


@pytest.fixture
def filled(store_path, make_entry):
    with Store.write(store_path) as store:
        store.add([make_entry(seed) for seed in range(100, 110)])
    return store_path


def same(first: Record, second: Record) -> None:
    for field in fields(Record):
        ours, theirs = getattr(first, field.name), getattr(second, field.name)
        if field.name == "parameters":
            assert ours.dtype == theirs.dtype
            assert (ours == theirs).all()
        else:
            assert ours == theirs, field.name


def test_a_record_comes_back_whole(filled, make_entry):
    with Store.read(filled) as store:
        entries = store.entries("exp1", recipe="PAPER", backend="cpu", algorithm=1)
    assert [entry.record.seed for entry in entries] == list(range(100, 110))
    same(entries[0].record, make_entry(100).record)
    assert entries[0].setting == make_entry().setting


@given(
    numbers=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=8, max_size=8),
    restarts=st.lists(st.integers(1, 200), max_size=9),
    formula=st.none() | st.text(max_size=50),
    exact=st.none() | st.booleans(),
    means=st.none() | st.tuples(*[st.sampled_from([-1.0, 0.0, 1.0])] * 3),
)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_any_values_come_back(tmp_path_factory, make_entry, numbers, restarts, formula, exact, means):
    names = [f"{s}{kind}_{place}" for s in ("", "snapped_") for kind in ("mse", "within")
             for place in ("interpolation", "extrapolation")]  # fmt: skip
    plain = (formula or "").isprintable()
    entry = make_entry(
        **dict(zip(names, numbers, strict=True)), restarts=tuple(restarts),
        formula=formula if plain else None, exact_formula=exact,
    )  # fmt: skip
    if means is not None:
        start = Initialisation(*means, 0.5)
        entry = type(entry)(
            Setting("exp3", "inalu-shared", "add", "N(-3,3)", "N(7,13)", start), "PAPER", entry.record
        )
    path = tmp_path_factory.mktemp("any") / "runs.sqlite"
    with Store.write(path) as store:
        store.add([entry])
        (back,) = store.entries()
    assert back.setting == entry.setting
    assert back.record.formula == entry.record.formula
    assert back.record.exact_formula == exact
    assert back.record.restarts == tuple(restarts)
    for name, number in zip(names, numbers, strict=True):
        assert getattr(back.record, name) == (number if np.isfinite(number) else None)


def test_what_is_there_stays_as_it_is(filled, make_entry):
    with Store.write(filled) as store:
        store.add([make_entry(100, formula="x0 - x1"), make_entry(110)])
        entries = store.entries()
    assert len(entries) == 11
    assert {entry.record.formula for entry in entries} == {"x0 + x1"}


def test_one_record_can_be_shown_twice(filled, make_entry):
    entry = make_entry(100)
    other = Setting("exp1", "nalu-vector", "add", "U(-1,1)", "U(-10,-5)")
    with Store.write(filled) as store:
        store.show([(other, "PAPER", entry.record.key)] * 2)
        assert len(store.keys()) == 10
        assert len(store.entries()) == 11
        assert len(store.entries(keys=[entry.record.key])) == 2


def test_a_second_writer_is_told_so_and_readers_are_not_kept_out(filled):
    with Store.write(filled), pytest.raises(StoreError, match=r"another command .* is writing"):
        Store.write(filled)
    with Store.write(filled), Store.read(filled) as reader:
        assert len(reader.keys()) == 10
    with Store.write(filled):
        pass


def test_nothing_is_left_beside_the_store(filled):
    with Store.read(filled) as store:
        store.entries()
    assert os.listdir(filled.parent) == [filled.name]


@pytest.mark.parametrize("share", [0.0, 0.002, 0.1, 0.5, 0.9, 0.9999])
def test_a_store_that_was_cut_short_is_refused_and_not_touched(filled, share):
    content = filled.read_bytes()
    cut = content[: int(len(content) * share)]
    filled.write_bytes(cut)
    for opened in (Store.write, Store.read):
        with pytest.raises(StoreError) as error:
            opened(filled)
        assert str(error.value).count("\n") == 0
        assert "left as it is" in str(error.value) or "left as it was" in str(error.value)
    assert filled.read_bytes() == cut
    assert os.listdir(filled.parent) == [filled.name]


def test_a_damaged_store_is_refused_and_not_touched(filled):
    content = bytearray(filled.read_bytes())
    content[4096:12288] = os.urandom(8192)
    filled.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        Store.write(filled)
    assert filled.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\x7fELF" * 100])
def test_a_file_that_is_no_store_is_refused_and_not_touched(store_path, content):
    store_path.write_bytes(content)
    for opened in (Store.write, Store.read):
        with pytest.raises(StoreError, match=r"no(t a)? store"):
            opened(store_path)
    assert store_path.read_bytes() == content
    assert os.listdir(store_path.parent) == [store_path.name]


def test_another_programs_database_is_refused_and_not_touched(store_path):
    connection = sqlite3.connect(store_path)
    connection.execute("CREATE TABLE runs (key TEXT)")
    connection.commit()
    connection.close()
    content = store_path.read_bytes()
    for opened in (Store.write, Store.read):
        with pytest.raises(StoreError, match="another program's database"):
            opened(store_path)
    assert store_path.read_bytes() == content


def test_a_store_of_another_version_is_refused(filled):
    connection = sqlite3.connect(filled)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="version 99"):
        Store.write(filled)


def test_no_room_left_is_one_sentence_and_keeps_what_was_there(filled, make_entry):
    with Store.write(filled) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="no room left") as error:
            store.add([make_entry(seed, formula="x" * 2000) for seed in range(200, 300)])
        assert "\n" not in str(error.value)
        assert len(store.keys()) == 10
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.add([make_entry(200)])
    with Store.read(filled) as store:
        assert len(store.keys()) == 11


def test_places_where_no_store_can_be(tmp_path):
    with pytest.raises(StoreError, match="no folder"):
        Store.write(tmp_path / "missing" / "runs.sqlite")
    with pytest.raises(StoreError, match="cannot be read"):
        Store.write(tmp_path)
    with pytest.raises(StoreError, match="no store"):
        Store.read(tmp_path / "runs.sqlite")


def test_conditions_in_sql(filled):
    with Store.read(filled) as store:
        names, rows = store.results("seed < 103 AND operation = 'add'")
        assert len(rows) == 3
        assert {"experiment", "recipe", "mse_extrapolation", "formula", "key"} <= set(names)
        for wrong in ("sead = 1", "1) OR (", "seed; DROP TABLE runs", "'"):
            with pytest.raises(InvalidArgument, match="The columns are experiment"):
                store.results(wrong)
        assert len(store.keys()) == 10


def test_a_frame_in_one_line(filled):
    pandas = pytest.importorskip("pandas")
    frame = read_frame(filled, "seed >= 105")
    assert frame.shape[0] == 5
    with sqlite3.connect(filled) as connection:
        plain = pandas.read_sql("SELECT * FROM results", connection)
    connection.close()
    assert list(plain.columns) == list(frame.columns)


def test_holdings_and_mixed_programs(filled, make_entry):
    from dataclasses import replace

    entry = make_entry(300)
    other = replace(entry.record.specification, algorithm=2)
    newer = type(entry)(entry.setting, "PAPER", replace(entry.record, specification=other))
    with Store.write(filled) as store:
        one_program(store.entries())
        store.add([newer])
        assert [(h.algorithm, h.runs) for h in store.holdings()] == [(1, 10), (2, 1)]
        assert len(store.entries(algorithm=2)) == 1
        with pytest.raises(InvalidArgument, match="several programs"):
            one_program(store.entries())


def test_stores_can_be_put_together(filled, make_entry, tmp_path):
    other = tmp_path / "other.sqlite"
    with Store.write(other) as store:
        store.add([make_entry(seed, status="diverged") for seed in range(105, 115)])
    before = other.read_bytes()
    with Store.write(filled) as store:
        assert store.take(other) == 5
        assert store.take(other) == 0
    assert other.read_bytes() == before
    with Store.read(filled) as store:
        entries = store.entries()
    # What was there stays as it was.
    assert [e.record.status for e in entries] == ["finished"] * 10 + ["diverged"] * 5
    same(entries[-1].record, make_entry(114, status="diverged").record)


def test_a_store_takes_nothing_from_what_is_none(filled, tmp_path):
    wrong = tmp_path / "table.csv"
    wrong.write_text("a,b\n")
    with Store.write(filled) as store:
        with pytest.raises(StoreError, match="not a store"):
            store.take(wrong)
        assert len(store.keys()) == 10


def test_a_draft_that_found_no_room_is_not_left_behind(store_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("inalu.experiments.store_file.os.replace", full)
    with pytest.raises(StoreError, match="no room left"):
        Store.write(store_path)
    assert not list(store_path.parent.iterdir())


def test_a_lock_on_a_full_disk_holds(filled, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("inalu.experiments.lock.os.write", full)
        store = Store.write(filled)
    with store, pytest.raises(StoreError, match="another command is writing"):
        Store.write(filled)
    assert os.listdir(filled.parent) == [filled.name]
