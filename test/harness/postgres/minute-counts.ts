import { statement } from '../../../src/storage/pool.ts'

/** What is counted otherwise than it is stored, or for which there is no order or attempt. */
export interface Miscount {
  /** What is counted together, as a text. */
  counted: string
  counts: bigint
  stored: bigint
}

const powers = Array.from({ length: 31 }, (_, power) => 2 ** power).join(', ')
/** Spelled again, so that a code in a wrong class is seen. */
const reason = (isApproved: string, isFiltered: string, isError: string, code: string) => `case
  when ${isApproved} then '' when ${isFiltered} then 'refused'
  when ${code} in ('116', '121', '123') then 'funds' when ${code} = '101' then 'expired'
  when ${code} in ('165', '2001', '2005', '2006', '2007', '2008', '2011') then 'authentication'
  when ${code} in ('2003', '2009') then 'timedOut' when ${code} = '2002' then 'cancelled'
  when ${code} in ('109', '110', '115', '120', '904', '907', '908', '909', '911', '912', '913', '914', '916', '2010')
    then 'technical'
  when ${isError} then 'technical' else 'issuer' end`
const within = (from: string, to: string) => `(
  select min(p) from unnest(array[${powers}]) p where p >= round(extract(epoch from ${to} - ${from}) * 1000))`
const orderReason = reason(
  "o.status = 'approved'",
  "o.status = 'filtered'",
  "o.status = 'error'",
  "coalesce(o.result->>'errorCode', '')",
)
const attemptReason = reason("a.outcome = 'approved'", 'false', "a.outcome <> 'declined'", "coalesce(a.action_code, '')")

/**
 * Minute counts beside the orders and attempts themselves; no row where they are equal. What 3-D
 * Secure said when an attempt ended is not stored, so it is compared for orders alone. The
 * statement compares the counts of all merchants, or of one.
 */
export const miscounts = statement<Miscount>(`
  with stored as (
    select 'order' as what, o.merchant_id, date_trunc('minute', o.final_at) as minute, o.endpoint_id,
      coalesce(o.result->>'gateId', '0')::bigint as gate_id, o.kind, coalesce(f.card->>'network', '') as network,
      coalesce(f.card->>'country', '') as country, o.status as outcome, ${orderReason} as reason,
      coalesce(o.result->>'verified', '') as verified, ${within('o.created_at', 'o.final_at')} as within_ms
    from orders o join order_facts f using (merchant_id, order_id) where o.final_at is not null
    union all
    select 'attempt', a.merchant_id, date_trunc('minute', a.ended_at), o.endpoint_id, a.gate_id, coalesce(t.kind, o.kind),
      coalesce(f.card->>'network', ''), coalesce(f.card->>'country', ''), a.outcome, ${attemptReason}, '',
      ${within('a.started_at', 'a.ended_at')}
    from all_attempts a join orders o using (merchant_id, order_id) join order_facts f using (merchant_id, order_id)
    left join transaction t on t.merchant_id = a.merchant_id and t.order_id = a.order_id
      and t.transaction_no = a.transaction_no
    where a.outcome is not null),
  counted as (
    select what, merchant_id, minute, p[1]::bigint as endpoint_id, p[2]::bigint as gate_id, p[3] as kind, p[4] as network,
      p[5] as country, p[6] as outcome, p[7] as reason, case what when 'order' then p[8] else '' end as verified,
      within as within_ms, ended as counts
    from (select *, string_to_array(key, '|') as p from minute_count) c,
      lateral (values ('order', p[9]), ('attempt', p[10])) as e (what, within)
    where within <> ''),
  both_sides as (
    select concat_ws(' ', what, merchant_id, minute, endpoint_id, gate_id, kind, network, country, outcome, reason, verified,
      within_ms) as counted, counts, 0 as stored from counted where $1::bigint is null or merchant_id = $1
    union all
    select concat_ws(' ', what, merchant_id, minute, endpoint_id, gate_id, kind, network, country, outcome, reason, verified,
      within_ms), 0, 1 from stored where $1::bigint is null or merchant_id = $1)
  select counted, sum(counts)::bigint as counts, sum(stored)::bigint as stored from both_sides
  group by counted having sum(counts) <> sum(stored) order by counted`)
