-- One row a model, benchmark, protocol and serving precision: its current run over the scored set.
with totals as (

    select
        run_id,
        count(*) as n_subjects,
        count(*) filter (where n > 0) as clusters,
        sum(hits) / nullif(sum(n), 0) as share,
        sum(hits * hits) as hits_squared,
        sum(hits * n) as hits_times_n,
        sum(n * n) as n_squared,
        {{ sum_counts() }}
    from {{ ref('int_score_cells') }}
    group by run_id

),

annotated as (

    select model, string_agg(annotation, '; ' order by annotation) as annotations
    from {{ ref('stg_model_annotations') }}
    group by model

),

withdrawn as (

    select run_id, count(distinct item_id) as n_withdrawn
    from {{ ref('stg_responses') }}
    where item_id in (select item_id from {{ ref('stg_withdrawals') }})
    group by run_id

),

scored as (

    select
        runs.run_id,
        runs.model,
        runs.benchmark,
        runs.protocol_id,
        runs.protocol_name,
        runs.max_tokens,
        runs.serving_precision,
        runs.ranked_by,
        runs.graded_version as dataset_version,
        'scored' as item_set,
        runs.is_complete,
        totals.n_subjects,
        coalesce(withdrawn.n_withdrawn, 0) as n_withdrawn,
        runs.n_ungraded,
        {{ score_columns('totals.') }},
        macro.macro_accuracy,
        macro.macro_accuracy_low,
        macro.macro_accuracy_high,
        -- Cluster-robust standard error with the items of a subject as one cluster; formula and source:
        -- opentwbench/evaluation/scoring.py, _clustered_error. The sum of (hits - n * share)^2, multiplied out.
        case
            when clusters > 1 then sqrt(
                clusters / (clusters - 1)
                * greatest(0, hits_squared - 2 * share * hits_times_n + share * share * n_squared)
            ) / n
        end as clustered_error,
        {{ interval(wilson_low, 'strict_hits', 'n', 'totals.repeats') }} as strict_accuracy_low,
        {{ interval(wilson_high, 'strict_hits', 'n', 'totals.repeats') }} as strict_accuracy_high,
        {{ interval(wilson_low, 'lenient_hits', 'n', 'totals.repeats') }} as lenient_accuracy_low,
        {{ interval(wilson_high, 'lenient_hits', 'n', 'totals.repeats') }} as lenient_accuracy_high,
        {{ share('lenient_parsed', 'n') }} as lenient_parse_rate,
        {{ share('tolerant_box_hits', 'n') }} as tolerant_box_accuracy,
        {{ share('twinkle_box_hits', 'n') }} as twinkle_box_accuracy,
        {{ share('twinkle_pattern_hits', 'n') }} as twinkle_pattern_accuracy,
        {{ share('cap_hits', 'n') }} as cap_hit_rate,
        {{ share('errors', '(n + errors)') }} as error_rate,
        {{ share('several_boxes', 'n') }} as several_boxes_rate,
        totals.repeats,
        repeats.repeat_mean,
        repeats.repeat_sd,
        runs.prompt_tokens,
        runs.completion_tokens,
        runs.reasoning_tokens,
        runs.latency_ms_median,
        runs.started,
        annotated.annotations
    from {{ ref('int_runs') }} as runs
    inner join totals using (run_id)
    left join {{ ref('int_macro_scores') }} as macro on runs.run_id = macro.run_id and macro.is_over_all
    left join {{ ref('int_repeats') }} as repeats using (run_id)
    left join withdrawn using (run_id)
    left join annotated using (model)

)

-- Only complete runs are ranked, within one benchmark and one named protocol: two protocols are never ranked together.
-- Models are counted and not runs: a model of three budgets pushes nobody down three places, and none stands above itself.
select
    scored.*,
    case
        when is_complete then 1 + (
            select count(distinct other.model)
            from scored as other
            where
                other.is_complete
                and other.model <> scored.model
                and other.benchmark = scored.benchmark
                and other.protocol_name = scored.protocol_name
                and other.accuracy_low > scored.accuracy_high
        )
    end as rank_band
from scored
order by benchmark, protocol_name, accuracy desc, model
