"""CloudEvents headers of a record, in the Kafka binding's binary mode.

Attributes become headers named `ce_<attribute>`; the value is the record's JSON as it is. Written
by hand on the way out since it is on the hot path; tests read them back with the CloudEvents SDK.
"""

from datetime import UTC, datetime
from typing import Final

from sayso.schemas.record import Record

SOURCE: Final = "sayso"
_CONTENT_TYPE: Final = ("content-type", b"application/json")
_SPEC_VERSION: Final = ("ce_specversion", b"1.0")


def cloud_headers(
    record: Record, *, source: str = SOURCE, at: datetime | None = None
) -> list[tuple[str, bytes]]:
    """Headers for `record`; `at` is when it was made, now by default."""
    made = at or datetime.now(UTC)
    return [
        _SPEC_VERSION,
        ("ce_id", record.ce_id.encode()),
        ("ce_source", source.encode()),
        ("ce_type", record.ce_type.encode()),
        ("ce_time", made.isoformat().encode()),
        ("ce_subject", record.key.encode()),
        _CONTENT_TYPE,
    ]
