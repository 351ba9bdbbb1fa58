-- Items that stay published and leave the scored set, with reason, day and evidence.
select * from {{ ref('stg_withdrawals') }}
order by withdrawn_on desc nulls last, dataset, item_id
