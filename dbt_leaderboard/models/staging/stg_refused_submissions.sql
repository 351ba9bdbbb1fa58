select
    refusal_id,
    reason,
    detail,
    nullif(form, '') as form,
    rows,
    nullif(model, '') as model,
    nullif(benchmark, '') as benchmark,
    nullif(dataset_version, '') as dataset_version,
    nullif(protocol_id, '') as protocol_id,
    nullif(serving_precision, '') as serving_precision,
    try_cast(received as timestamptz) as received
from {{ source('raw', 'refused_submissions') }}
