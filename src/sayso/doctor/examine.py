"""All checks, beside each other."""

import asyncio
from collections.abc import Awaitable

from sayso.doctor.clock import check_clock
from sayso.doctor.finding import Finding, failed
from sayso.doctor.kafka import check_kafka
from sayso.doctor.model import check_model
from sayso.doctor.settings import check_settings
from sayso.doctor.slack import check_slack
from sayso.logs import described
from sayso.settings import Settings, WrongSettings, load_settings


async def examine() -> tuple[Finding, ...]:
    """What every check found, in a fixed order.

    Without readable settings there is nothing else to look at: each of their faults is a finding.
    """
    try:
        settings = load_settings()
    except WrongSettings as error:
        return tuple(failed("settings", line) for line in str(error).splitlines())
    checks = _checks(settings)
    # What a check did not foresee must not keep the others from being heard.
    results = await asyncio.gather(*checks.values(), return_exceptions=True)
    found = list(check_settings(settings))
    for name, result in zip(checks, results, strict=True):
        if isinstance(result, Exception):
            found.append(_broken(name, result))
        elif isinstance(result, BaseException):
            raise result
        else:
            found += result
    return tuple(found)


def _checks(settings: Settings) -> dict[str, Awaitable[tuple[Finding, ...]]]:
    return {
        "broker": check_kafka(settings),
        **{f"slack {org}": check_slack(settings, org) for org in sorted(settings.orgs)},
        "model": check_model(settings),
        "clock": check_clock(settings.slack.api_url),
    }


def _broken(name: str, error: Exception) -> Finding:
    # Its own words might quote what must not be shown.
    about = described(error)
    where = ", ".join(about["raised"][-2:])
    return failed(
        name,
        f"this check itself failed with {about['error']} at {where}",
        "report it with this line",
    )
