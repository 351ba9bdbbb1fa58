-- A run with its protocol and what its stored responses cover. Of the runs of one cell of the board (model, benchmark,
-- protocol, serving precision) one is current: a complete one before one that still lacks items, then the latest. A run
-- is complete when every question has a response that a resumed run would not ask again (RETRIED in
-- opentwbench/evaluation/journal.py) and it asked the benchmark and not a part of it: at least nine tenths of the items
-- that the widest run of the benchmark covers, which leaves room for a new sitting (a fifteenth) and none for a trial.
with covered as (

    select
        run_id,
        max(graded_version) as graded_version,
        count(*) as responses,
        count(distinct item_id) as n_covered,
        count(*) filter (where error in ('transport', 'timeout', 'rate_limited', 'server', 'unreadable')) as n_to_retry,
        count(distinct repeat) as repeats_seen,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens,
        sum(reasoning_tokens)::bigint as reasoning_tokens,
        median(latency_ms) as latency_ms_median
    from {{ ref('stg_responses') }}
    group by run_id

),

known as (

    select
        runs.*,
        protocols.name as protocol_name,
        protocols.max_tokens,
        protocols.extraction as ranked_by,
        covered.graded_version,
        coalesce(covered.responses, 0) as responses,
        coalesce(covered.n_covered, 0) as n_covered,
        coalesce(covered.repeats_seen, 0) as repeats_seen,
        coalesce(covered.n_to_retry, 0) as n_to_retry,
        coalesce(gradings.ungraded_items, 0) as n_ungraded,
        coalesce(gradings.doubled, 0) as n_doubled,
        covered.prompt_tokens,
        covered.completion_tokens,
        covered.reasoning_tokens,
        covered.latency_ms_median,
        coalesce(covered.responses, 0) + coalesce(gradings.ungraded, 0) >= runs.n_items * runs.repeats
        and coalesce(covered.n_to_retry, 0) = 0 as is_answered,
        coalesce(covered.n_covered, 0)
        >= 0.9 * max(coalesce(covered.n_covered, 0)) over (partition by runs.benchmark) as is_whole
    from {{ ref('stg_runs') }} as runs
    inner join {{ ref('stg_protocols') }} as protocols using (protocol_id)
    left join covered using (run_id)
    left join {{ ref('stg_gradings') }} as gradings using (run_id)

),

judged as (

    select *, is_answered and is_whole as is_complete from known

)

select
    *,
    n_covered > 0
    and row_number() over (
        partition by model, benchmark, protocol_id, serving_precision
        order by is_complete desc, started desc nulls last, run_id desc
    ) = 1 as is_current
from judged
