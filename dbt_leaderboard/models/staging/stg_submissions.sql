select
    submission_id,
    model,
    benchmark,
    dataset_version,
    protocol_id,
    serving_precision,
    form,
    try_cast(received as timestamptz) as received,
    n_items,
    rows
from {{ source('raw', 'submissions') }}
