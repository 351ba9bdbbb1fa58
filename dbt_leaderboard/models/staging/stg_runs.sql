select
    run_id,
    model,
    protocol_id,
    benchmark,
    dataset_version,
    item_set,
    n_items,
    repeats,
    -- A time that is none sorts last instead of failing the whole mart; a test warns of it.
    try_cast(started as timestamptz) as started,
    serving_precision,
    client_version,
    extra
from {{ source('raw', 'runs') }}
