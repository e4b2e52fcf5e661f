import random

from antiphon.engines.contract import SpeechUnit
from antiphon.scheduling import EarliestDeadline, Fifo, Job, Pace


def job(name: str, due_s: float = 0.0) -> Job:
    made = Job(None, SpeechUnit(name), Pace(), lambda: None)  # type: ignore[arg-type]  # a policy knows no listeners
    made.due_s = due_s
    return made


def queue(*jobs: Job) -> EarliestDeadline:
    policy = EarliestDeadline()
    for each in jobs:
        policy.push(each, 0.0)
    return policy


def test_whose_listener_runs_dry_first_is_first() -> None:
    jobs = [job(str(at), due_s=at) for at in range(50)]
    shuffled = random.Random(1).sample(jobs, len(jobs))  # noqa: S311 - no secret
    policy = queue(*shuffled)
    assert len(policy) == 50
    assert [policy.pop(0.0) for _ in range(51)] == [*jobs, None]


def test_of_two_deadlines_that_are_equal_the_first_come_is_first() -> None:
    jobs = [job("a"), job("b"), job("c")]
    policy = queue(*jobs)
    assert [policy.pop(0.0) for _ in jobs] == jobs


def test_a_job_that_comes_back_has_the_deadline_that_it_has_then() -> None:
    first, second = job("a", 1.0), job("b", 2.0)
    policy = queue(first, second)
    assert policy.pop(0.0) is first
    first.due_s = 3.0
    policy.push(first, 0.0)
    assert [policy.pop(0.0), policy.pop(0.0)] == [second, first]


def test_a_discarded_job_leaves_no_gap() -> None:
    jobs = [job("a"), job("b"), job("c")]
    policy = queue(*jobs)
    policy.discard(jobs[1])
    policy.discard(jobs[1])
    assert len(policy) == 2
    assert [policy.pop(0.0) for _ in jobs] == [jobs[0], jobs[2], None]
    assert len(policy) == 0


def test_fifo_ignores_deadlines() -> None:
    policy = Fifo()
    jobs = [job("a", 3.0), job("b", 2.0), job("c", 1.0)]
    for each in jobs:
        policy.push(each, 0.0)
    policy.discard(jobs[1])
    policy.discard(jobs[1])
    assert len(policy) == 2
    assert [policy.pop(0.0) for _ in jobs] == [jobs[0], jobs[2], None]
