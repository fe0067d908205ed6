"""A producer in Python over a client that was generated of the OpenAPI document, and knows nothing else.

Called by `cargo xtask api` with the address of a runner that has the kinds of `tests/guests/misbehave`.
"""

import datetime
import importlib
import pkgutil
import sys

import sandhog_api
from sandhog_api import Client
from sandhog_api.api.crons import put_schedule
from sandhog_api.api.dead import count_dead, get_dead, list_dead
from sandhog_api.api.jobs import cancel_job, enqueue_job, enqueue_jobs, get_job, list_jobs, wait_for_job
from sandhog_api.api.stats import get_stats
from sandhog_api.models import (
    Enqueued,
    Job,
    ListJobsState,
    NewJob,
    NewJobHeaders,
    NewJobs,
    NewJobUniqueType1,
    NewJobUniqueType1OnConflict,
    NewSchedule,
    NextJob,
    Problem,
    Reason,
    State,
)


def every_module_can_be_imported():
    names = [found.name for found in pkgutil.walk_packages(sandhog_api.__path__, "sandhog_api.")]
    for name in names:
        importlib.import_module(name)
    assert len(names) > 100, names


def a_job_is_enqueued_and_its_result_waited_for(client):
    text = NewJob(
        kind="echo",
        payload={"rows": [1, 2.5, None, "é"]},
        queue="reports",
        tags=["monthly"],
        headers=NewJobHeaders.from_dict({"a": "1"}),
        backoff="exponential 2s factor 3 max 2h",
        then=[NextJob(kind="echo", payload="after", in_="1ms"), "echo"],
    )
    enqueued = enqueue_job.sync(client=client, body=text)
    assert isinstance(enqueued, Enqueued) and not enqueued.existing, enqueued
    waited = wait_for_job.sync(enqueued.id, client=client, timeout_ms=60_000)
    assert waited.ended and isinstance(waited.job, Job), waited
    job = waited.job
    assert job.state == State.COMPLETED and job.result == {"rows": [1, 2.5, None, "é"]}, job
    assert job.headers == [["a", "1"]] and job.tags == ["monthly"], job
    assert isinstance(job.enqueued_at, datetime.datetime), job
    assert get_job.sync(enqueued.id, client=client).result == job.result
    page = list_jobs.sync(client=client, state=ListJobsState.COMPLETED, queue="reports")
    assert [row.id for row in page.jobs] == [enqueued.id], page


def the_same_wish_told_twice_is_one_job(client):
    job = NewJob(kind="nobody", payload_base64="/wD/")
    told = [enqueue_job.sync_detailed(client=client, body=job, idempotency_key="order-4711") for _ in range(2)]
    assert [answer.status_code for answer in told] == [201, 200], told
    assert told[0].parsed.id == told[1].parsed.id and told[1].parsed.existing, told
    waited = wait_for_job.sync(told[0].parsed.id, client=client, timeout_ms=1)
    assert not waited.ended and waited.job.kind == "nobody", waited
    cancelled = cancel_job.sync(told[0].parsed.id, client=client, body=Reason(reason="no more"))
    assert cancelled.state == State.CANCELLED, cancelled


def what_is_refused_says_so_by_its_code(client):
    missing = get_job.sync("01KBA0000000000000000000AA", client=client)
    assert isinstance(missing, Problem) and missing.code == "not-found", missing
    unique = NewJobUniqueType1(key="one", on_conflict=NewJobUniqueType1OnConflict.REJECT)
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    jobs = NewJobs(jobs=[NewJob(kind="echo", unique=unique, at=later) for _ in range(2)])
    first, second = enqueue_jobs.sync(client=client, body=jobs).jobs
    assert first.id and second.error.code == "duplicate", (first, second)


def a_dead_letter_is_found(client):
    job = enqueue_job.sync(client=client, body=NewJob(kind="permanent", payload_text="broken"))
    dead = wait_for_job.sync(job.id, client=client, timeout_ms=60_000).job
    assert dead.state == State.DEAD and dead.failure.code == "beyond-repair", dead
    assert count_dead.sync(client=client).count == 1
    assert list_dead.sync(client=client).letters[0].id == job.id
    letter = get_dead.sync(job.id, client=client)
    assert letter.failure.details[0][0] == "payload-bytes", letter


def a_schedule_names_any_zone(client):
    wish = NewSchedule(schedule="30 2 * * *", zone="Pacific/Chatham", kind="echo")
    changed = put_schedule.sync("nightly", client=client, body=wish)
    assert changed.schedule.zone == "Pacific/Chatham", changed


def main():
    every_module_can_be_imported()
    # A status of which the document says nothing is an error.
    client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
    a_job_is_enqueued_and_its_result_waited_for(client)
    the_same_wish_told_twice_is_one_job(client)
    what_is_refused_says_so_by_its_code(client)
    a_dead_letter_is_found(client)
    a_schedule_names_any_zone(client)
    assert get_stats.sync(client=client).store.jobs.completed >= 3
    print("a client generated of the OpenAPI document enqueued and waited")


main()
