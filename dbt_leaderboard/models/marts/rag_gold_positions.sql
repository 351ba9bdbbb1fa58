-- Means by where the gold context stood: a judge or a model that reads the first passages best shows here.
select
    scores.run,
    any_value(verdicts.model) as model,
    any_value(verdicts.judge) as judge,
    scores.gold_position,
    metric,
    count(*) as n,
    avg(score_value) as mean
from {{ ref('int_rag_scores') }} as scores
inner join {{ ref('stg_rag_verdicts') }} as verdicts
    on scores.run = verdicts.run and scores.question_id = verdicts.question_id
where scores.gold_position is not null
group by scores.run, scores.gold_position, metric
order by scores.run, metric, scores.gold_position
