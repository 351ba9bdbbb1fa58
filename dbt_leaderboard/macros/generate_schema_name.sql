{#- A model's schema is the one it names: staging, intermediate or main. Without this dbt prefixes the target's. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ (custom_schema_name or target.schema) | trim }}
{%- endmacro %}
