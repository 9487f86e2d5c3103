"""What is past its time goes, what is on hold stays, and the rest can still be proved."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from elbowroom.account.chain import unsealed
from elbowroom_proxy.ports import Capture, Texts
from elbowroom_proxy.sinks import keeping
from elbowroom_proxy.sinks import verify as proving
from elbowroom_proxy.sinks.beside import Beside
from elbowroom_proxy.sinks.chained import Chained, lines_of
from elbowroom_proxy.sinks.keeping import Keeping
from elbowroom_proxy.sinks.locks import lock
from elbowroom_proxy.sinks.verify import verify

KEY = b"k" * 32
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAYS = ("2026-03-01", "2026-03-05", "2026-03-09")


@pytest.fixture
def folder(tmp_path):
    """Three files of one writer, two lines each."""
    writer = Chained(tmp_path, KEY)
    for number, day in enumerate(DAYS):
        for line in (0, 1):
            writer.add(day, b'{"trace_id":"t%d","time":"%b"}' % (2 * number + line, day.encode()))
        writer.flush()
    writer.close()
    return tmp_path


def days(folder):
    return [path.name[:10] for path in sorted(folder.glob("*.jsonl"))]


def test_files_past_their_age_go_and_the_rest_is_proved(folder):
    assert Keeping(folder, KEY, days=5).tidy(NOW) == 1
    assert days(folder) == list(DAYS[1:])
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.lines, verdict.removed, verdict.sealed) == ((), 4, 2, 6)
    assert Keeping(folder, KEY, days=5).tidy(NOW) == 0
    assert Keeping(folder, KEY, days=1).tidy(NOW + timedelta(days=5)) == 2
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.lines, verdict.removed, verdict.sealed) == ((), 0, 6, 6)


def test_files_beyond_the_size_go_the_oldest_first(folder):
    size = sum(path.stat().st_size for path in folder.glob("*.jsonl"))
    assert Keeping(folder, KEY, size=size).tidy(NOW) == 0
    assert Keeping(folder, KEY, size=size - 1).tidy(NOW) == 1
    assert days(folder) == list(DAYS[1:])
    assert verify(folder, KEY).findings == ()


def test_without_rules_everything_stays(folder):
    assert Keeping(folder, KEY).tidy(NOW) == 0
    assert days(folder) == list(DAYS)


def test_a_pass_removes_so_many_and_the_next_one_goes_on(folder, monkeypatch):
    monkeypatch.setattr(keeping, "AT_ONCE", 1)
    assert Keeping(folder, KEY, days=1).tidy(NOW) == 1
    assert Keeping(folder, KEY, days=1).tidy(NOW) == 1
    assert days(folder) == [DAYS[2]]


def test_a_file_that_was_given_an_older_name_is_not_removed_for_it(folder):
    """Else whoever may rename, and has no key, would have a file removed with a word that is signed."""
    (young,) = folder.glob(f"{DAYS[2]}-*.jsonl")
    young.rename(young.with_name(f"2026-01-01{young.name[10:]}"))
    with capture_logs() as logged:
        assert Keeping(folder, KEY, days=20, size=1).tidy(NOW) == 2
    assert days(folder) == ["2026-01-01"]
    assert [one["event"] for one in logged if one["log_level"] == "error"] == ["trace_file_misnamed"]
    (found,) = verify(folder, KEY).findings
    assert (found.kind, found.says) == ("moved", f"its name says 2026-01-01, its lines are of {DAYS[2]}")


@pytest.mark.parametrize(
    "line", [b"{}", b'{"time":"2026-01-01","chain":"%b:99:%b"}', b'{"chain":"%b:6:%b"}'], ids=["bare", "later", "same"]
)
def test_nothing_is_signed_for_a_file_that_somebody_else_made_look_old(folder, line):
    """A line put behind the others says no day, or another one."""
    (young,) = folder.glob(f"{DAYS[2]}-*.jsonl")
    writer = young.name.split("-")[4].encode()
    line = line % (writer, b"0" * 64) if b"%b" in line else line
    young.write_bytes(young.read_bytes() + line + b"\n")
    young.rename(young.with_name(f"2026-01-01{young.name[10:]}"))
    with capture_logs() as logged:
        assert Keeping(folder, KEY, days=20).tidy(NOW) == 1
    assert [one["event"] for one in logged if one["log_level"] == "error"] == ["trace_file_not_proved"]
    (found,) = verify(folder, KEY).findings
    assert (found.kind, found.where) == ("cut", writer.decode())


def test_a_file_of_one_line_is_proved_by_what_its_writer_wrote_before(folder):
    writer = Chained(folder, KEY)
    for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
        writer.add(day, b'{"trace_id":"x"}')
    writer.flush()
    writer.close()
    for age in (67, 66, 65):
        assert Keeping(folder, KEY, days=age).tidy(NOW) == 1
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.removed) == ((), 3)


def line_of_another(folder, day):
    """A process that wrote one line, as a command that reads does; its writer."""
    writer = Chained(folder, KEY)
    name = writer.writer
    writer.add(day, b'{"trace_id":"x","time":"%b"}' % day.encode())
    writer.flush()
    writer.close()
    return name


def heads(folder):
    return {path.name for path in (folder / "heads").iterdir()}


def rest_a_day(folder, now):
    """As if nobody had written since then."""
    for path in (folder / "heads").iterdir():
        os.utime(path, (now.timestamp() - 100_000, now.timestamp() - 100_000))


def test_of_writers_whose_files_are_gone_nothing_is_left_in_the_end(folder):
    (first,) = heads(folder)
    other = line_of_another(folder, "2026-03-09")  # which signed the first one's head
    later = NOW + timedelta(days=30)
    rule = Keeping(folder, KEY, days=5)
    rest_a_day(folder, NOW)
    assert rule.tidy(NOW) == 1
    assert heads(folder) == {first, other}  # there are files of either
    assert rule.tidy(later) == 3
    assert rule.tidy(later) == 0
    assert heads(folder) == set()
    last = line_of_another(folder, "2026-04-09")
    rule.tidy(later)
    assert {path.name for path in (folder / "removed").iterdir()} == set()
    assert (verify(folder, KEY).findings, heads(folder)) == ((), {last})


def test_a_writer_that_is_named_by_another_is_known_as_long_as_that_one_is(folder):
    (first,) = heads(folder)
    other = line_of_another(folder, "2026-04-08")
    now = NOW + timedelta(days=30)
    rest_a_day(folder, now)
    rule = Keeping(folder, KEY, days=5)
    assert rule.tidy(now) == 3
    assert rule.tidy(now) == 0
    assert heads(folder) == {other}
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.removed, verdict.sealed) == ((), 6, 7)
    (folder / "removed" / "*.over.json").write_text("x")  # nobody is forgotten for a name that no key signed
    assert rule.tidy(now) == 0
    (folder / "removed" / "*.over.json").unlink()
    (folder / "removed" / f"{first}.over.json").unlink()
    assert [(one.kind, one.where) for one in verify(folder, KEY).findings] == [("no_head", first)]


def test_a_head_that_lines_are_missing_of_stays(folder):
    """Else what was removed without a word would be forgotten with what went by the rules."""
    (first,) = heads(folder)
    next(folder.glob(f"{DAYS[2]}-*.jsonl")).unlink()
    rest_a_day(folder, NOW)
    rule = Keeping(folder, KEY, days=1)
    assert (rule.tidy(NOW), rule.tidy(NOW), heads(folder)) == (2, 0, {first})
    assert [one.kind for one in verify(folder, KEY).findings] == ["cut"]


def test_a_head_that_was_signed_today_stays(folder):
    now = NOW + timedelta(days=30)
    for path in (folder / "heads").iterdir():
        os.utime(path, (now.timestamp(), now.timestamp()))
    rule = Keeping(folder, KEY, days=5)
    assert (rule.tidy(now), rule.tidy(now), len(heads(folder))) == (3, 0, 1)


@pytest.mark.parametrize("step", ["words", "lines"])
def test_what_goes_while_it_is_proved_is_not_missing(folder, monkeypatch, step):
    """Retention works on while somebody runs `verify`."""
    once = iter([True])

    def meanwhile(found):
        if next(once, False):
            assert Keeping(folder, KEY, days=5).tidy(NOW) == 1
        return found

    words = proving._Folder._signed_words
    if step == "lines":
        monkeypatch.setattr(proving, "lines_of", lambda path: lines_of(meanwhile(path)))
    else:
        monkeypatch.setattr(proving._Folder, "_signed_words", lambda self: meanwhile(list(words(self))))
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.removed, next(once, None)) == ((), 2, None)


def test_what_went_without_the_key_is_missing(folder):
    Keeping(folder, b"o" * 32, days=5).tidy(NOW)
    kinds = [one.kind for one in verify(folder, KEY).findings]
    assert kinds == ["missing"]


def test_a_file_that_is_being_written_stays(folder):
    writer = Chained(folder, KEY)
    writer.add("2026-01-01", b'{"trace_id":"x"}')
    writer.flush()
    Keeping(folder, KEY, days=30).tidy(NOW)
    assert days(folder) == ["2026-01-01", *DAYS]
    assert Keeping(folder, KEY).recover(NOW) == 0
    writer.close()
    assert Keeping(folder, KEY, days=30).tidy(NOW) == 1


def test_one_process_tidies_at_a_time(folder):
    guard = os.open(folder / ".keeping", os.O_RDWR | os.O_CREAT, 0o600)
    assert lock(guard)
    assert Keeping(folder, KEY, days=1).tidy(NOW) == 0
    os.close(guard)
    assert Keeping(folder, KEY, days=1).tidy(NOW) == 2


def test_files_from_before_there_were_chains_go_as_well(folder):
    (folder / "2026-01-01-1-0000.jsonl").write_text('{"version":1}\n')
    assert Keeping(folder, KEY, days=30).tidy(NOW) == 1
    assert verify(folder, KEY).findings == ()


def test_intents_are_kept_by_the_same_rules(folder):
    (folder / "intents").mkdir()
    writer = Chained(folder / "intents", KEY)
    writer.add("2026-03-01", b'{"trace_id":"t0"}')
    writer.flush()
    writer.close()
    assert Keeping(folder, KEY, days=5).tidy(NOW) == 2
    assert verify(folder, KEY).findings == ()


# --- holds ------------------------------------------------------------------------------------------------------------


def test_what_is_on_hold_stays_until_it_is_released(folder):
    held = keeping.hold(folder, "t1", "incident 4711")
    assert held is not None
    assert held.file.startswith(DAYS[0])
    assert keeping.holds(folder) == {"t1": held}
    assert Keeping(folder, KEY, days=1).tidy(NOW) == 1
    assert days(folder) == [DAYS[0], DAYS[2]]
    assert verify(folder, KEY).findings == ()
    assert keeping.release(folder, "t1")
    assert not keeping.release(folder, "t1")
    assert Keeping(folder, KEY, days=1).tidy(NOW) == 1
    assert verify(folder, KEY).findings == ()


def test_of_a_request_in_shadow_its_own_record_is_held(folder):
    writer = Chained(folder, KEY)
    writer.add("2026-03-10", b'{"trace_id":"t1","kind":"shadow","time":"2026-03-10"}')
    writer.flush()
    writer.close()
    held = keeping.hold(folder, "t1", "incident 4711")
    assert held is not None
    assert held.file[:10] == DAYS[0]


def test_what_is_nowhere_cannot_be_held(folder):
    assert keeping.hold(folder, "t9", "why not") is None
    assert not keeping.release(folder, "../heads")
    assert keeping.holds(folder) == {}


# --- texts beside -----------------------------------------------------------------------------------------------------


def capture(folder, trace_id, until):
    told = Capture(
        trace_id=trace_id, redacted=True, until=until, body=b'{"messages":[]}', headers={}, answer=""
    )  # fmt: skip
    Beside(folder, KEY).keep(Texts(capture=told), "2026-03-01")


def captures(folder):
    return sorted(path.name for path in (folder / "captures").glob("*/*"))


def test_captured_texts_go_after_their_last_day(folder):
    for trace_id, until in (("t0", "2026-03-08"), ("t1", "2026-03-09"), ("t2", "2026-03-10")):
        capture(folder, trace_id, until)
    keeping.hold(folder, "t0", "incident 4711")
    assert Keeping(folder, KEY).tidy(NOW) == 1
    assert captures(folder) == ["t0", "t2"]
    assert not (folder / "captures" / "2026-03-09").exists()
    assert verify(folder, KEY).findings == ()


def test_captured_texts_are_erased_with_a_signed_word(folder):
    capture(folder, "t0", "2026-03-08")
    assert keeping.erase(folder, "t0", KEY)
    assert not keeping.erase(folder, "t0", KEY)
    assert captures(folder) == []
    told = unsealed(KEY, (folder / "removed" / "t0.json").read_bytes())
    assert told is not None
    assert (told["trace_id"], told["why"]) == ("t0", "erased")
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.erased) == ((), 1)


def test_policies_and_instructions_go_when_no_record_names_them_any_more(folder):
    kept = Texts(policy=("p", b"{}"), instructions=(("i", "be kind"),))
    Beside(folder, KEY).keep(kept, "2026-03-01")
    (fresh, old) = (folder / "policies" / "p", folder / "instructions" / "i")
    os.utime(old, ((NOW - timedelta(days=40)).timestamp(),) * 2)
    os.utime(fresh, (NOW.timestamp(),) * 2)
    Keeping(folder, KEY).tidy(NOW)
    assert old.exists()
    keeping.hold(folder, "t1", "incident 4711")
    Keeping(folder, KEY, days=30).tidy(NOW)
    assert old.exists()
    keeping.release(folder, "t1")
    Keeping(folder, KEY, days=30).tidy(NOW)
    assert fresh.exists()
    assert not old.exists()


# --- half lines -------------------------------------------------------------------------------------------------------


def test_half_a_line_is_cut_off_with_a_signed_word(folder):
    (path,) = folder.glob(f"{DAYS[2]}*")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"half' + b"x" * 70_000)
    assert verify(folder, KEY).torn == (path.name,)
    assert Keeping(folder, KEY).recover(NOW) == 1
    assert path.read_bytes() == whole
    assert Keeping(folder, KEY).recover(NOW) == 0
    verdict = verify(folder, KEY)
    assert (verdict.findings, verdict.torn, verdict.mended) == ((), (), 1)


def test_a_file_of_half_a_line_alone_becomes_empty(folder):
    (folder / "2026-03-09-1-0123456789ab-0000.jsonl").write_bytes(b'{"half')
    assert Keeping(folder, KEY).recover(NOW) == 1
    assert (folder / "2026-03-09-1-0123456789ab-0000.jsonl").read_bytes() == b""
