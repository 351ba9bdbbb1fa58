{#- Each macro states a function of opentwbench/statistics once more in SQL; a test compares the two. -#}

{#- 97.5 % point of the standard normal distribution: the z of a two-sided 95 % interval. -#}
{% macro z95() -%} 1.959963984540054 {%- endmacro %}

{#- Wilson's 95 % interval of hits of n (opentwbench/statistics/intervals.py). No trials give 0 to 1. -#}
{% macro wilson_low(hits, n) -%}
    case
        when {{ n }} = 0 or {{ hits }} = 0 then 0.0
        else greatest(
            0.0,
            (
                {{ hits }} / {{ n }} + {{ z95() }} * {{ z95() }} / (2 * {{ n }})
                - {{ z95() }} * sqrt(
                    ({{ hits }} / {{ n }}) * (1 - {{ hits }} / {{ n }}) / {{ n }}
                    + {{ z95() }} * {{ z95() }} / (4.0 * {{ n }} * {{ n }})
                )
            ) / (1 + {{ z95() }} * {{ z95() }} / {{ n }})
        )
    end
{%- endmacro %}

{% macro wilson_high(hits, n) -%}
    case
        when {{ n }} = 0 or {{ hits }} = {{ n }} then 1.0
        else least(
            1.0,
            (
                {{ hits }} / {{ n }} + {{ z95() }} * {{ z95() }} / (2 * {{ n }})
                + {{ z95() }} * sqrt(
                    ({{ hits }} / {{ n }}) * (1 - {{ hits }} / {{ n }}) / {{ n }}
                    + {{ z95() }} * {{ z95() }} / (4.0 * {{ n }} * {{ n }})
                )
            ) / (1 + {{ z95() }} * {{ z95() }} / {{ n }})
        )
    end
{%- endmacro %}

{#- hits / n, null when nothing was counted. -#}
{% macro share(hits, n) -%} {{ hits }} / nullif({{ n }}, 0) {%- endmacro %}

{#- A share with both ends of its interval: <name>, <name>_low, <name>_high. Repeats of an item are no independent
    draws, so with repeats the interval is that of n / repeats items (opentwbench/evaluation/scoring.py, rate). -#}
{% macro interval(end, hits, n, repeats) -%}
    {%- set items = 'greatest(1, round_even(' ~ n ~ ' / ' ~ repeats ~ ', 0))' -%}
    {%- set right = 'least(' ~ items ~ ', round_even(' ~ hits ~ ' * ' ~ items ~ ' / ' ~ n ~ ', 0))' -%}
    case
        when {{ repeats }} = 1 or {{ n }} = 0 then {{ end(hits, n) }}
        else {{ end(right, items) }}
    end
{%- endmacro %}

{% macro rate(hits, n, name, repeats='1') -%}
    {{ share(hits, n) }} as {{ name }},
    {% if repeats == '1' -%}
    {{ wilson_low(hits, n) }} as {{ name }}_low,
    {{ wilson_high(hits, n) }} as {{ name }}_high
    {%- else -%}
    {# The share over all repeats can fall a rounding outside the interval of the items. #}
    least({{ interval(wilson_low, hits, n, repeats) }}, coalesce({{ share(hits, n) }}, 0)) as {{ name }}_low,
    greatest({{ interval(wilson_high, hits, n, repeats) }}, coalesce({{ share(hits, n) }}, 1)) as {{ name }}_high
    {%- endif %}
{%- endmacro %}

{#- Rank 1 for the largest, equal values share the mean of their ranks (opentwbench/statistics/ranks.py). -#}
{% macro average_rank(value, partition) -%}
    rank() over (partition by {{ partition }} order by {{ value }} desc)
    + (count(*) over (partition by {{ partition }}, {{ value }}) - 1) / 2.0
{%- endmacro %}
