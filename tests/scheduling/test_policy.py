from antiphon.engines.contract import SpeechUnit
from antiphon.scheduling import Fifo, Job, Pace


def job(name: str) -> Job:
    return Job(None, SpeechUnit(name), Pace(), lambda: None)  # type: ignore[arg-type]  # a policy knows no listeners


def test_first_come_first_served() -> None:
    fifo, jobs = Fifo(), [job("a"), job("b"), job("c")]
    for each in jobs:
        fifo.push(each, 0.0)
    assert len(fifo) == 3
    assert [fifo.pop(0.0) for _ in range(4)] == [*jobs, None]


def test_a_job_that_comes_back_goes_to_the_back() -> None:
    fifo, first, second = Fifo(), job("a"), job("b")
    fifo.push(first, 0.0)
    fifo.push(second, 0.0)
    fifo.push(fifo.pop(0.0) or first, 0.0)
    assert [fifo.pop(0.0), fifo.pop(0.0)] == [second, first]


def test_a_discarded_job_leaves_no_gap() -> None:
    fifo, jobs = Fifo(), [job("a"), job("b"), job("c")]
    for each in jobs:
        fifo.push(each, 0.0)
    fifo.discard(jobs[1])
    fifo.discard(jobs[1])
    assert len(fifo) == 2
    assert [fifo.pop(0.0), fifo.pop(0.0)] == [jobs[0], jobs[2]]
