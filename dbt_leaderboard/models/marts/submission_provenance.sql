-- The cleaned provenance records of volunteers' submissions, a row a field.
select * from {{ ref('stg_submission_provenance') }}
order by submission_id, field
