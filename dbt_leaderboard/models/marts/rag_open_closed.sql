-- acc(open) - acc(closed) over the items that a model answered both ways, with McNemar's test on the discordant ones
-- (opentwbench/statistics/paired.py; the tail is summed as in head_to_head).
with counts as (

    select
        model,
        protocol_id,
        open_run,
        closed_run,
        count(*) as n,
        sum(open_right)::bigint as open_hits,
        sum(closed_right)::bigint as closed_hits,
        count(*) filter (where difference = 1) as only_open,
        count(*) filter (where difference = -1) as only_closed
    from {{ ref('rag_open_closed_items') }}
    group by model, protocol_id, open_run, closed_run

),

terms as (

    select
        open_run,
        closed_run,
        only_open + only_closed as discordant,
        unnest(range(
            greatest(0, least(only_open, only_closed) - 40 - (10 * sqrt(only_open + only_closed))::bigint),
            least(only_open, only_closed) + 1
        )) as k
    from counts
    where only_open + only_closed > 0

),

tails as (

    select
        open_run,
        closed_run,
        sum(exp(
            lgamma(discordant + 1.0) - lgamma(k + 1.0) - lgamma(discordant - k + 1.0) - discordant * ln(2.0)
        )) as tail
    from terms
    group by open_run, closed_run

)

select
    counts.model,
    counts.protocol_id,
    counts.open_run,
    counts.closed_run,
    n,
    open_hits,
    {{ rate('open_hits', 'n', 'open_accuracy') }},
    closed_hits,
    {{ rate('closed_hits', 'n', 'closed_accuracy') }},
    {{ share('(open_hits - closed_hits)', 'n') }} as gain,
    only_open,
    only_closed,
    only_open + only_closed as discordant,
    case when only_open = only_closed then 1.0 else least(1.0, 2 * tail) end as mcnemar_exact_p
from counts
left join tails on counts.open_run = tails.open_run and counts.closed_run = tails.closed_run
order by counts.model, counts.open_run, counts.closed_run
