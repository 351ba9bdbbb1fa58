-- The figures of the retrieval track in one long table: a row a run, question and metric that has a value. A judge's
-- error or unreadable reply has none, so that it is in no mean.
{% set metrics = ['faithfulness', 'answer_relevancy', 'context_precision', 'context_recall', 'score', 'recall', 'f1'] %}
{% for metric in metrics %}
select run, question_id, category, gold_position, '{{ metric }}' as metric, {{ metric }} as score_value
from {{ ref('stg_rag_verdicts') }}
where {{ metric }} is not null
{% if not loop.last %}union all{% endif %}
{% endfor %}
union all
select run, question_id, category, gold_position, 'answer_found' as metric, answer_found::int as score_value
from {{ ref('stg_rag_verdicts') }}
where answer_found is not null
