-- Every protocol that a run or submission names: two protocols are two columns, never one.
select * from {{ ref('stg_protocols') }}
order by name, max_tokens, protocol_id
