{#- Every value of these columns is one of the words, and none is null. -#}
{% test vocabulary(model, columns, values) %}
select *
from {{ model }}
where
    {% for column in columns %}
    coalesce({{ column }}, '?') not in ({% for value in values %}'{{ value }}'{{ ', ' if not loop.last }}{% endfor %})
    {{ 'or' if not loop.last }}
    {% endfor %}
{% endtest %}
