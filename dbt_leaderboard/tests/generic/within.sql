{#- Every value of these columns lies between low and high, both included; null is no value. -#}
{% test within(model, columns, low, high) %}
select *
from {{ model }}
where
    {% for column in columns %}
    ({{ column }} is not null and (isnan({{ column }}) or not {{ column }} between {{ low }} and {{ high }}))
    {{ 'or' if not loop.last }}
    {% endfor %}
{% endtest %}
