"""Barriers: members in threads and processes, and what becomes of the others when one ends."""
import copy
import os
import pickle
import signal
import threading

import pytest

import warpway
from children import LIMIT_S
from waits import in_thread, interrupted, is_readable


def members(barrier, count):
    """Barriers for one member each."""
    return [barrier.token().open() for _ in range(count)]


# --- one process ---


def test_waits_of_threads():
    """They pass together. A Cancel or Ctrl-C ends one, joined or not, and the next one goes on in the same round."""
    with warpway.Barrier(3) as barrier:
        others = members(barrier, 2)
        cancel = warpway.Cancel()
        result = in_thread(others[0].wait, cancel=cancel)
        cancel.set()
        with pytest.raises(warpway.Cancelled):
            result()
        interrupted(barrier.join)
        interrupted(barrier.wait)
        for is_first in (True, False):
            results = [in_thread(other.wait) for other in others]
            assert {barrier.wait(), *(result() for result in results)} == {0, 1, 2}
            if is_first:
                interrupted(barrier.wait)
        assert barrier.round == 2


def test_properties_before_and_after_joining():
    with warpway.Barrier(1) as barrier:
        assert (barrier.parties, barrier.rank, barrier.arrived, barrier.round) == (1, None, 0, 0)
        assert (barrier.broken, barrier.broken_rank, barrier.closed) == (False, None, False)
        assert "not joined" in repr(barrier)
        assert barrier.join() == 0
        assert (barrier.rank, barrier.round) == (0, 0)
        assert barrier.wait() == 0
        assert barrier.wait() == 0
        assert barrier.round == 2
        assert "rank 0 of 1" in repr(barrier)


def test_parties_are_known_when_it_is_joined():
    with warpway.Barrier(1) as barrier, barrier.token().open() as member:
        assert member.parties is None
        member.join()
        assert member.parties == 1


@pytest.mark.parametrize("arguments", [{"parties": 0}, {"parties": -1}, {"parties": 1, "mode": 0}, {"parties": 1, "escrow": None},
                                       {"parties": 1, "escrow": -1}, {"parties": 1, "name": ""}])
def test_barrier_that_cannot_be_made(arguments):
    with pytest.raises(ValueError):
        warpway.Barrier(**arguments)


def test_arguments_of_other_types():
    for arguments in ({"parties": "2"}, {"parties": 1, "name": 2}, {"parties": 1, "broker": "here"}):
        with pytest.raises(TypeError):
            warpway.Barrier(**arguments)
    with pytest.raises(TypeError):
        warpway.Barrier.get("name", broker=3)
    with warpway.Barrier(1) as barrier:
        with pytest.raises(TypeError):
            barrier.join("0")
        with pytest.raises(TypeError):
            barrier.wait(cancel=1)
        with pytest.raises(ValueError):
            barrier.join(-1)
        with pytest.raises(ValueError):
            barrier.join(1)
        assert barrier.join(0) == 0


def test_descriptor_shows_rounds():
    with warpway.Barrier(2) as barrier, barrier.token().open() as other:
        with pytest.raises(warpway.WrongState, match="join"):
            barrier.fileno()
        joined = in_thread(other.join)
        barrier.join()
        joined()
        assert barrier.fileno() == barrier.fileno()
        for _ in range(2):
            with pytest.raises(warpway.Timeout):
                barrier.wait(0)
            assert not is_readable(barrier)
            other.wait(0)
            assert is_readable(barrier, LIMIT_S)
            barrier.wait(0)
            assert not is_readable(barrier)
        other.close()
        assert is_readable(barrier, LIMIT_S)
        with pytest.raises(warpway.PeerLost):
            barrier.wait(0)
        own = os.dup(barrier.fileno())
    assert is_readable(own)
    os.close(own)


def test_closed_barrier_is_refused():
    barrier = warpway.Barrier(1)
    barrier.join()
    barrier.close()
    barrier.close()
    assert barrier.closed is True
    assert "closed" in repr(barrier)
    for call in (barrier.wait, barrier.join, barrier.fileno, barrier.token, lambda: barrier.rank, lambda: pickle.dumps(barrier)):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_time_covers_joining():
    with warpway.Barrier(2) as barrier:
        with pytest.raises(warpway.Timeout):
            barrier.wait(0.01)
        with pytest.raises(TimeoutError):
            barrier.join(timeout=0)
        assert barrier.rank is None


def test_ranks_are_chosen():
    with warpway.Barrier(2) as barrier:
        [other] = members(barrier, 1)
        joined = in_thread(other.join, 1)
        assert barrier.join(0) == 0
        assert joined() == 1
        assert barrier.join() == barrier.join(0) == barrier.join(None) == 0
        with pytest.raises(warpway.WrongState, match="rank 0"):
            barrier.join(1)
        [late] = members(barrier, 1)
        with pytest.raises(warpway.AlreadyExists):
            late.join(0)


def test_second_thread_is_refused():
    """One of the two waits, the other one is refused at once."""
    with warpway.Barrier(2) as barrier:
        cancel = warpway.Cancel()
        results = [in_thread(barrier.wait, cancel=cancel) for _ in range(2)]
        errors = []
        refused = threading.Event()

        def note(result):
            try:
                result()
            except warpway.Error as error:
                errors.append(type(error))
            refused.set()

        notes = [threading.Thread(target=note, args=(result,)) for result in results]
        for thread in notes:
            thread.start()
        refused.wait()
        assert errors == [warpway.WrongState]
        cancel.set()
        for thread in notes:
            thread.join()
        assert errors == [warpway.WrongState, warpway.Cancelled]


def test_member_that_leaves_breaks_the_next_round():
    with warpway.Barrier(2) as barrier:
        [other] = members(barrier, 1)
        result = in_thread(other.wait)
        barrier.wait()
        result()
        rank = other.rank
        other.close()
        with pytest.raises(warpway.PeerLost, match="left"):
            barrier.wait()
        assert barrier.broken is True
        assert barrier.broken_rank == rank
        assert "broken" in repr(barrier)


def test_closing_while_another_thread_waits():
    with warpway.Barrier(2) as barrier:
        [other] = members(barrier, 1)
        joined = in_thread(other.join)
        barrier.join()
        joined()
        result = in_thread(barrier.wait)
        while other.arrived == 0:
            pass
        barrier.close()
        other.wait()
        assert result() in (0, 1)
        other.close()


# --- by name ---


def test_name(request):
    name = request.node.name
    with warpway.Barrier(2, name) as barrier:
        with pytest.raises(warpway.AlreadyExists):
            warpway.Barrier(2, name)
        with warpway.Barrier(1, name, replace=True), warpway.Barrier.get(name) as replacing:
            assert replacing.wait() == 0
    with warpway.Barrier(2, name) as barrier:
        with warpway.Barrier.get(name) as other:
            with pytest.raises(warpway.Unsupported, match="name"):
                other.token()
            result = in_thread(other.wait)
            assert {barrier.wait(), result()} == {0, 1}


def test_name_that_is_not_there():
    with pytest.raises(warpway.Timeout):
        warpway.Barrier.get("nobody/puts/this").wait(0.01)
    for name in ("", "x" * 192, "a\0b"):
        with pytest.raises(ValueError):
            warpway.Barrier.get(name)
    with pytest.raises(warpway.Error):
        warpway.Barrier.get("../this").join()


# --- pickles ---


def test_copies_are_members_of_their_own():
    with warpway.Barrier(2) as barrier:
        other = copy.copy(barrier)
        result = in_thread(pickle.loads(pickle.dumps(other)).wait)
        assert {barrier.wait(), result()} == {0, 1}
        assert other.rank is None


def test_pickle_of_a_named_one_carries_the_name(request):
    found = pickle.loads(pickle.dumps(warpway.Barrier.get(request.node.name)))
    assert request.node.name.encode() in pickle.dumps(found)
    with warpway.Barrier(1, request.node.name):
        assert found.wait() == 0


# --- processes ---


def join_with_handler(talk, barrier):
    signal.signal(signal.SIGUSR1, lambda *unused: talk.send("handled"))
    talk.send("ready")
    return barrier.wait(), barrier.wait(), barrier.round


def test_handlers_do_not_disturb_members(spawn):
    """A process that stopped joining would break the barrier for those that had seen it."""
    def wait_twice(barrier):
        return barrier.wait(), barrier.wait()

    with warpway.Barrier(3) as barrier:
        child = spawn(join_with_handler, barrier)
        assert child.receive() == "ready"
        seen = in_thread(wait_twice, barrier.token().open())
        ranks = set()
        for _ in range(2):
            for _ in range(10):
                os.kill(child.pid, signal.SIGUSR1)
                assert child.receive() == "handled"
            ranks.add(barrier.wait())
        first, second, rounds = child.result()
        assert ranks | {first} | {*seen()} == {0, 1, 2} and first == second and rounds == 2
