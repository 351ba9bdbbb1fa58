-- Every reply is parsed, unparsed, refused, empty or capped: exactly one.
{% for table in ['leaderboard', 'subject_scores', 'field_scores', 'year_scores'] %}
select '{{ table }}' as table_name, run_id, n, parsed, unparsed, refused, empty, capped
from {{ ref(table) }}
where n <> parsed + unparsed + refused + empty + capped or hits > parsed
{{ 'union all' if not loop.last }}
{% endfor %}
