-- How far the parse rate of a run in a subject stands from what that run does elsewhere, and from what other runs do
-- in that subject. The rule and its source: models/marts/parse_alarms.sql.
with cells as (

    select
        cells.run_id,
        runs.benchmark,
        runs.protocol_name,
        cells.subject,
        -- Items, not repeats of them: the noise of a cell is that of its items.
        cells.n // cells.repeats as n,
        cells.parsed / cells.n as parse_rate
    from {{ ref('int_score_cells') }} as cells
    inner join {{ ref('int_runs') }} as runs using (run_id)
    where cells.n // cells.repeats >= {{ var('alarm_min_n') }}

),

by_run as (

    select
        *,
        median(parse_rate) over (partition by run_id) as run_median,
        count(*) over (partition by run_id) as run_cells
    from cells

),

beside_run as (

    select
        *,
        parse_rate - run_median as difference_run,
        median(abs(parse_rate - run_median)) over (partition by run_id) as run_mad,
        -- A run that reads badly everywhere is no outlier in every subject: subjects are compared on what is left.
        median(parse_rate - run_median) over (partition by benchmark, protocol_name, subject) as subject_shift,
        count(*) over (partition by benchmark, protocol_name, subject) as subject_cells
    from by_run

),

beside_subject as (

    select
        *,
        difference_run - subject_shift as difference_subject,
        median(abs(difference_run - subject_shift)) over (
            partition by benchmark, protocol_name, subject
        ) as subject_mad,
        least(1.0, greatest(0.0, run_median + subject_shift)) as subject_expected
    from beside_run

),

scaled as (

    select
        *,
        -- The scale is never below binomial noise at the expected rate (two added on either side: Agresti and Coull
        -- 1998), because most cells sit at 100 % and their MAD is zero.
        greatest(
            1.4826 * run_mad,
            sqrt((run_median * n + 2) / (n + 4) * (1 - (run_median * n + 2) / (n + 4)) / n)
        ) as run_scale,
        greatest(
            1.4826 * subject_mad,
            sqrt((subject_expected * n + 2) / (n + 4) * (1 - (subject_expected * n + 2) / (n + 4)) / n)
        ) as subject_scale
    from beside_subject

)

select
    run_id,
    subject,
    n,
    parse_rate,
    run_median as run_typical,
    subject_expected as subject_typical,
    case when run_cells >= {{ var('alarm_min_cells') }} then difference_run / run_scale end as z_for_model,
    case
        when subject_cells >= {{ var('alarm_min_cells') }} then difference_subject / subject_scale
    end as z_for_subject,
    coalesce(
        run_cells >= {{ var('alarm_min_cells') }}
        and abs(difference_run) >= {{ var('alarm_min_difference') }}
        and abs(difference_run / run_scale) >= {{ var('alarm_z') }},
        false
    ) as outlier_for_model,
    coalesce(
        subject_cells >= {{ var('alarm_min_cells') }}
        and abs(difference_subject) >= {{ var('alarm_min_difference') }}
        and abs(difference_subject / subject_scale) >= {{ var('alarm_z') }},
        false
    ) as outlier_for_subject
from scaled
