-- Whether the scores of a run lie alike wherever its gold context stood: the Kruskal-Wallis test with the correction for
-- ties (opentwbench/statistics/kruskal.py), a row a run and metric. No row where nothing can be tested: fewer than two
-- positions, or no two scores that differ.
with ranked as (

    select
        run,
        metric,
        gold_position,
        {{ average_rank('score_value', 'run, metric') }} as score_rank,
        count(*) over (partition by run, metric, score_value) as tied
    from {{ ref('int_rag_scores') }}
    where gold_position is not null

),

places as (

    select
        run,
        metric,
        count(*)::double as n,
        sum(score_rank) as rank_sum,
        -- Over the rows of a tie of t scores, t * t - 1 adds to t^3 - t.
        sum(tied * tied - 1)::double as ties
    from ranked
    group by run, metric, gold_position

),

sums as (

    select
        run,
        metric,
        count(*) as positions,
        sum(n) as n,
        sum(rank_sum * rank_sum / n) as squares,
        sum(ties) as ties
    from places
    group by run, metric

),

statistics as (

    select
        run,
        metric,
        positions,
        n::bigint as n,
        greatest(0.0, (12 / (n * (n + 1)) * squares - 3 * (n + 1)) / (1 - ties / (n * n * n - n))) as h
    from sums
    where positions > 1 and ties < n * n * n - n

),

-- The lower tail of the chi-square distribution as the series of the incomplete gamma function: terms above zero only.
terms as (

    select
        run,
        metric,
        (positions - 1) / 2.0 as a,
        h / 2.0 as x,
        unnest(range(0, 60 + (h / 2 + 12 * sqrt(h / 2))::bigint)) as k
    from statistics
    where h > 0

),

tails as (

    select run, metric, 1 - sum(exp(-x + (a + k) * ln(x) - lgamma(a + k + 1))) as upper
    from terms
    group by run, metric

)

select
    statistics.run,
    statistics.metric,
    positions,
    n,
    h,
    positions - 1 as degrees,
    least(1.0, greatest(0.0, coalesce(upper, 1.0))) as p
from statistics
left join tails on statistics.run = tails.run and statistics.metric = tails.metric
order by statistics.run, statistics.metric
