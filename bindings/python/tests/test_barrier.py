"""Barriers: members in threads and processes, and what becomes of the others when one ends."""
import copy
import os
import pickle
import signal
import threading

import pytest

import warpway
from waits import in_thread, interrupt_main_thread


def members(barrier, count):
    """Barriers for one member each."""
    return [barrier.token().open() for _ in range(count)]


# --- one process ---


def test_threads_pass_together():
    with warpway.Barrier(3) as barrier:
        results = [in_thread(member.wait) for member in members(barrier, 2)]
        ranks = {barrier.wait()} | {result() for result in results}
    assert ranks == {0, 1, 2}


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


@pytest.mark.parametrize("arguments", [{"parties": 0}, {"parties": -1}, {"parties": 1025}, {"parties": 1, "mode": 0},
                                       {"parties": 1, "mode": 0o1777}, {"parties": 1, "escrow": None},
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


def test_closed_barrier_is_refused():
    barrier = warpway.Barrier(1)
    barrier.join()
    barrier.close()
    barrier.close()
    assert barrier.closed is True
    assert "closed" in repr(barrier)
    for call in (barrier.wait, barrier.join, barrier.token, lambda: barrier.rank, lambda: pickle.dumps(barrier)):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_time_covers_joining():
    with warpway.Barrier(2) as barrier:
        with pytest.raises(warpway.Timeout):
            barrier.wait(0.01)
        with pytest.raises(TimeoutError):
            barrier.join(timeout=0)
        assert barrier.rank is None


def test_wait_after_a_timeout_goes_on_in_the_same_round():
    with warpway.Barrier(2) as barrier:
        [other] = members(barrier, 1)
        joined = in_thread(other.join)
        barrier.join()
        joined()
        with pytest.raises(warpway.Timeout):
            barrier.wait(0)
        assert barrier.arrived == 1
        other.wait()
        barrier.wait(0)
        assert (barrier.round, other.round) == (1, 1)


def test_ranks_are_chosen():
    with warpway.Barrier(2) as barrier:
        [other] = members(barrier, 1)
        joined = in_thread(other.join, 1)
        assert barrier.join(0) == 0
        assert joined() == 1
        assert barrier.join() == 0
        assert barrier.join(0) == 0
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


def test_wait_ends_by_its_cancel():
    with warpway.Barrier(2) as barrier:
        cancel = warpway.Cancel()
        result = in_thread(barrier.wait, cancel=cancel)
        cancel.set()
        with pytest.raises(warpway.Cancelled):
            result()


def interrupted(call):
    """Whether Ctrl-C ends a call that waits."""
    sender = threading.Thread(target=interrupt_main_thread)
    with pytest.raises(KeyboardInterrupt):
        sender.start()
        call()
    sender.join()


def test_ctrl_c_ends_joining():
    with warpway.Barrier(2) as barrier:
        interrupted(barrier.join)
        interrupted(barrier.wait)
        [other] = members(barrier, 1)
        result = in_thread(other.wait)
        assert {barrier.wait(), result()} == {0, 1}


def test_ctrl_c_ends_waiting():
    with warpway.Barrier(2) as barrier:
        [other] = members(barrier, 1)
        joined = in_thread(other.join)
        barrier.join()
        joined()
        interrupted(barrier.wait)
        result = in_thread(other.wait)
        assert {barrier.wait(), result()} == {0, 1}


# --- by name ---


def test_name(request):
    name = request.node.name
    with warpway.Barrier(2, name) as barrier:
        with pytest.raises(warpway.AlreadyExists):
            warpway.Barrier(2, name)
        with warpway.Barrier.get(name) as other:
            with pytest.raises(warpway.Unsupported, match="name"):
                other.token()
            result = in_thread(other.wait)
            assert {barrier.wait(), result()} == {0, 1}


def test_join_waits_for_the_name(request):
    result = in_thread(warpway.Barrier.get(request.node.name).wait)
    with warpway.Barrier(1, request.node.name):
        assert result() == 0


def test_replaced_barrier(request):
    with warpway.Barrier(2, request.node.name), warpway.Barrier(1, request.node.name, replace=True):
        assert warpway.Barrier.get(request.node.name).wait() == 0


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


def run_rounds(talk, barrier, rounds):
    ranks = {barrier.wait() for _ in range(rounds)}
    talk.send((ranks, barrier.round))
    return os.getpid()


def test_processes_pass_many_rounds(spawn):
    with warpway.Barrier(3) as barrier:
        children = [spawn(run_rounds, barrier, 50) for _ in range(2)]
        mine = {barrier.wait() for _ in range(50)}
        seen = [child.receive() for child in children]
    assert [rounds for _, rounds in seen] == [50, 50]
    assert sorted([mine, *(ranks for ranks, _ in seen)], key=min) == [{0}, {1}, {2}]


def wait_as_told(talk, barrier):
    """Passes one round; then arrives in the next when it is told to."""
    talk.send(barrier.wait())
    for _ in iter(talk.recv, "end"):
        try:
            talk.send(barrier.wait())
        except warpway.PeerLost as error:
            talk.send(str(error))


def test_member_that_is_killed(spawn):
    with warpway.Barrier(3) as barrier:
        killed, other = (spawn(wait_as_told, barrier) for _ in range(2))
        barrier.wait()
        rank = killed.receive()
        other.receive()
        other.send("wait")
        threading.Thread(target=killed.kill).start()
        with pytest.raises(warpway.PeerLost) as caught:
            barrier.wait()
        assert str(killed.pid) in str(caught.value)
        assert (barrier.broken, barrier.broken_rank) == (True, rank)
        assert str(killed.pid) in other.receive()
        other.send("end")
        other.result()


def join_with_handler(talk, barrier):
    signal.signal(signal.SIGUSR1, lambda *unused: talk.send("handled"))
    talk.send("ready")
    return barrier.wait()


def test_handlers_do_not_disturb_joining(spawn):
    """A process that stopped joining would break the barrier for those that had seen it."""
    with warpway.Barrier(3) as barrier:
        child = spawn(join_with_handler, barrier)
        assert child.receive() == "ready"
        seen = in_thread(barrier.token().open().wait)
        for _ in range(10):
            os.kill(child.pid, signal.SIGUSR1)
            assert child.receive() == "handled"
        assert {barrier.wait(), seen(), child.result()} == {0, 1, 2}


def create_and_end(talk):
    talk.send(warpway.Barrier(1, escrow=1000).token().to_bytes())


def test_barrier_outlives_its_creator(spawn):
    child = spawn(create_and_end)
    data = child.receive()
    child.result()
    with warpway.Token(data).open() as barrier:
        assert barrier.wait() == 0
