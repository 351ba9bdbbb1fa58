{#- Extraction methods that the raw responses have columns for (opentwbench/evaluation/warehouse.py, METHODS). -#}
{% macro methods() -%}
    {{ return(['strict', 'lenient', 'tolerant-box', 'twinkle-box', 'twinkle-pattern']) }}
{%- endmacro %}

{#- The column of one kind ('outcome', 'answer') under the method by which a protocol ranks. -#}
{% macro ranked(kind, extraction) -%}
    case {{ extraction }}
        {% for method in methods() -%}
        when '{{ method }}' then {{ method | replace('-', '_') }}_{{ kind }}
        {% endfor -%}
    end
{%- endmacro %}

{#- A reply that the method could read an option from. -#}
{% macro is_parsed(outcome) -%} {{ outcome }} in ('correct', 'wrong') {%- endmacro %}

{#- Finish reasons that mean the token budget (opentwbench/evaluation/scoring.py, CAPPED_REASONS). -#}
{% macro is_capped(reason) -%}
    coalesce({{ reason }} in ('length', 'max_tokens', 'max_output_tokens', 'model_length'), false)
{%- endmacro %}

{#- The counts that every score is made of, over answers grouped in any way. An error is no answer: it is counted beside
    n and is in no rate (opentwbench/evaluation/scoring.py). -#}
{% macro answer_counts() -%}
    count(*) filter (where ranked_outcome <> 'error') as n,
    count(*) filter (where ranked_outcome = 'correct') as hits,
    count(*) filter (where {{ is_parsed('ranked_outcome') }}) as parsed,
    count(*) filter (where strict_outcome = 'correct') as strict_hits,
    count(*) filter (where {{ is_parsed('strict_outcome') }}) as strict_parsed,
    count(*) filter (where lenient_outcome = 'correct') as lenient_hits,
    count(*) filter (where {{ is_parsed('lenient_outcome') }}) as lenient_parsed,
    count(*) filter (where tolerant_box_outcome = 'correct') as tolerant_box_hits,
    count(*) filter (where twinkle_box_outcome = 'correct') as twinkle_box_hits,
    count(*) filter (where twinkle_pattern_outcome = 'correct') as twinkle_pattern_hits,
    count(*) filter (where ranked_outcome = 'unparsed') as unparsed,
    count(*) filter (where ranked_outcome = 'refused') as refused,
    count(*) filter (where ranked_outcome = 'empty') as empty,
    count(*) filter (where ranked_outcome = 'capped') as capped,
    count(*) filter (where ranked_outcome = 'error') as errors,
    count(*) filter (where ranked_outcome <> 'error' and {{ is_capped('finish_reason') }}) as cap_hits,
    count(*) filter (where ranked_outcome <> 'error' and boxes > 1) as several_boxes,
    count(distinct repeat) as repeats
{%- endmacro %}

{% macro count_names() -%}
    {{ return(['n', 'hits', 'parsed', 'strict_hits', 'strict_parsed', 'lenient_hits', 'lenient_parsed',
               'tolerant_box_hits', 'twinkle_box_hits', 'twinkle_pattern_hits', 'unparsed', 'refused', 'empty',
               'capped', 'errors', 'cap_hits', 'several_boxes']) }}
{%- endmacro %}

{#- The same counts summed from cells that already hold them. -#}
{% macro sum_counts() -%}
    {% for name in count_names() -%}
    sum({{ name }})::bigint as {{ name }},
    {% endfor -%}
    max(repeats) as repeats
{%- endmacro %}

{#- Counts and rates of a cell or a group of cells, from columns named as above. -#}
{% macro score_columns(of) -%}
    {{ of }}n,
    {{ of }}hits,
    {{ rate(of ~ 'hits', of ~ 'n', 'accuracy', of ~ 'repeats') }},
    {{ of }}parsed,
    {{ rate(of ~ 'parsed', of ~ 'n', 'parse_rate', of ~ 'repeats') }},
    {{ share(of ~ 'hits', of ~ 'parsed') }} as accuracy_on_parsed,
    {{ of }}strict_hits,
    {{ share(of ~ 'strict_hits', of ~ 'n') }} as strict_accuracy,
    {{ of }}lenient_hits,
    {{ share(of ~ 'lenient_hits', of ~ 'n') }} as lenient_accuracy,
    {{ of }}unparsed,
    {{ of }}refused,
    {{ of }}empty,
    {{ of }}capped,
    {{ of }}errors
{%- endmacro %}
