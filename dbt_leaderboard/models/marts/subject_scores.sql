-- One row a current run and subject, with where its parse rate stands beside its model and beside its subject.
select
    cells.run_id,
    runs.model,
    runs.benchmark,
    runs.protocol_id,
    runs.serving_precision,
    cells.subject,
    cells.field,
    {{ score_columns('cells.') }},
    parse.z_for_model as parse_z_for_model,
    parse.z_for_subject as parse_z_for_subject,
    parse.run_id is not null as parse_judged,
    coalesce(parse.outlier_for_model or parse.outlier_for_subject, false) as parse_alarm
from {{ ref('int_score_cells') }} as cells
inner join {{ ref('int_runs') }} as runs using (run_id)
left join (
    select run_id, subject, z_for_model, z_for_subject, outlier_for_model, outlier_for_subject
    from {{ ref('int_parse_cells') }}
) as parse on cells.run_id = parse.run_id and cells.subject = parse.subject
order by subject, runs.benchmark, runs.model, cells.run_id
