-- One row a retrieval run and metric: the mean over the questions that have it, with a 95 % interval of the mean
-- (mean_interval in opentwbench/statistics/intervals.py: Wilson's at the mean, which has a width where three of three are
-- right), and the judge's own record beside it. A judge's `score` lies within 0 and 4, every other metric within 0 and 1.
with runs as (

    select
        run,
        any_value(dataset) as dataset,
        any_value(system) as system,
        any_value(model) as model,
        any_value(judge) as judge,
        any_value(judging) as judging,
        any_value(self_judged) as self_judged,
        count(*) as questions,
        count(*) filter (where judged = 'scored') as judged,
        count(*) filter (where judged = 'unparsed') as judge_unparsed,
        count(*) filter (where judged = 'error') as judge_errors
    from {{ ref('stg_rag_verdicts') }}
    group by run

),

means as (

    select
        run,
        metric,
        count(*) as n,
        avg(score_value) as mean,
        case when metric = 'score' then 4.0 else 1.0 end as most,
        sum(score_value) / most as total
    from {{ ref('int_rag_scores') }}
    group by run, metric

)

select
    runs.run,
    dataset,
    system,
    model,
    judge,
    judging,
    self_judged,
    metric,
    n,
    mean,
    most * {{ wilson_low('total', 'n') }} as mean_low,
    most * {{ wilson_high('total', 'n') }} as mean_high,
    -- One relevant context of four: what a judge says beyond that is its own error.
    case when metric = 'context_precision' and system = 'contexts' then mean - 0.25 end as calibration_error,
    questions,
    judged,
    judge_unparsed,
    judge_errors,
    {{ share('judged', '(judged + judge_unparsed)') }} as judge_parse_rate
from means
inner join runs on means.run = runs.run
order by runs.run, metric
