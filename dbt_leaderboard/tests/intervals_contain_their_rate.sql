{% for table, rate in [('leaderboard', 'accuracy'), ('leaderboard', 'parse_rate'),
                       ('leaderboard', 'macro_accuracy'), ('field_scores', 'macro_accuracy'),
                       ('leaderboard', 'strict_accuracy'),
                       ('leaderboard', 'lenient_accuracy'), ('subject_scores', 'accuracy'),
                       ('field_scores', 'accuracy'), ('year_scores', 'accuracy'), ('item_difficulty', 'pass_rate'),
                       ('key_consistency', 'consistency'), ('submissions_log', 'strict_accuracy'),
                       ('submissions_log', 'lenient_accuracy')] %}
select '{{ table }}.{{ rate }}' as column_name, {{ rate }} as rate, {{ rate }}_low as low, {{ rate }}_high as high
from {{ ref(table) }}
-- With repeats the interval is that of the items, and its rounded share may lie a rounding beside the rate.
where
    {{ rate }} is not null
    and not {{ rate }} between {{ rate }}_low - 1e-3 and {{ rate }}_high + 1e-3
    or {{ rate }}_low >= {{ rate }}_high
{{ 'union all' if not loop.last }}
{% endfor %}
