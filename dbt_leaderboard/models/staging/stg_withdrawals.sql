select
    dataset,
    item_id,
    reason,
    try_cast(date as date) as withdrawn_on,
    evidence
from {{ source('raw', 'withdrawals') }}
