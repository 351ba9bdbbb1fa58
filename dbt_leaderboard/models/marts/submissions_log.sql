-- Volunteers' submissions, the refused ones included, apart from our own runs and never ranked with them. In the
-- published form a row says whether the lenient reading was right and whether a box was read; strict is then at best
-- "right and boxed", a derived figure. Of a refused submission no row is kept, so that it has no score.
with counted as (

    select
        submission_id,
        count(*) as rows_received,
        count(*) filter (where item_id is not null) as rows_identified,
        count(*) filter (where strict_correct) as strict_hits,
        count(*) filter (where lenient_correct) as lenient_hits,
        count(*) filter (where strict_parsed) as strict_parsed,
        count(*) filter (where lenient_parsed) as lenient_parsed
    from {{ ref('stg_submission_answers') }}
    group by submission_id

),

taken_in as (

    select
        submissions.submission_id,
        true as is_accepted,
        submissions.model,
        submissions.benchmark,
        submissions.dataset_version,
        submissions.protocol_id,
        submissions.serving_precision,
        submissions.form,
        submissions.form = 'published' as strict_is_derived,
        submissions.received,
        submissions.n_items,
        coalesce(rows_received, 0) as n,
        coalesce(rows_identified, 0) as rows_identified,
        submissions.n_items - coalesce(rows_received, 0) as rows_missing,
        coalesce(counted.strict_hits, 0) as strict_hits,
        {{ rate('counted.strict_hits', 'rows_received', 'strict_accuracy') }},
        coalesce(counted.lenient_hits, 0) as lenient_hits,
        {{ rate('counted.lenient_hits', 'rows_received', 'lenient_accuracy') }},
        {{ share('counted.strict_parsed', 'rows_received') }} as strict_parse_rate,
        {{ share('counted.lenient_parsed', 'rows_received') }} as lenient_parse_rate
    from {{ ref('stg_submissions') }} as submissions
    left join counted using (submission_id)

),

refused as (

    select
        refusal_id as submission_id,
        false as is_accepted,
        model,
        benchmark,
        dataset_version,
        protocol_id,
        serving_precision,
        form,
        received,
        rows as n,
        reason as refused_for,
        detail as refusal_detail
    from {{ ref('stg_refused_submissions') }}

)

select * from taken_in
union all by name
select * from refused
order by received, submission_id
