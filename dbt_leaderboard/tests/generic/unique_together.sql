{#- The grain of a table: no two rows agree in all of these columns. -#}
{% test unique_together(model, columns) %}
select {{ columns | join(', ') }}, count(*) as rows
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}
