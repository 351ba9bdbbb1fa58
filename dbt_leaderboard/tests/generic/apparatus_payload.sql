{#- A payload is the JSON object that the site reads: both languages everywhere, and tables and charts as lists. A study
    without its input has n = 0 and holds no figure. -#}
{% test apparatus_payload(model) %}
select study_id
from {{ model }}
where
    not json_valid(payload)
    or json_type(payload, '$.tables') is distinct from 'ARRAY'
    or json_type(payload, '$.charts') is distinct from 'ARRAY'
    {% for text in ['title', 'question', 'method', 'finding'] %}
    or coalesce(json_extract_string(payload, '$.{{ text }}.zh'), '') = ''
    or coalesce(json_extract_string(payload, '$.{{ text }}.en'), '') = ''
    {% endfor %}
    or n < 0
    or (n = 0 and json_array_length(payload, '$.tables') > 0)
{% endtest %}
