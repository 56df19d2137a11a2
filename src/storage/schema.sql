-- The tables as all migrations together make them; those that a cell has make a new cell.
-- Written by `npm run schema` from the catalogs of a migrated database; a test compares the two.
-- Partitions are left out, since they come and go with the order ids.

create table access_refused (
  hour timestamp with time zone not null,
  login text not null,
  endpoint text not null,
  operation text not null,
  address text not null,
  reason text not null,
  count bigint not null,
  first_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  constraint access_refused_pkey PRIMARY KEY (hour, login, endpoint, operation, address, reason),
  constraint access_refused_count_check CHECK ((count > 0))
);

create table attempt (
  merchant_id bigint not null,
  order_id bigint not null,
  attempt_no integer not null,
  transaction_no integer not null,
  gate_id bigint not null,
  terminal_id text not null,
  stan text not null,
  rrn text not null,
  started_at timestamp with time zone not null,
  deadline_at timestamp with time zone not null,
  outcome text,
  action_code text,
  why text,
  ended_at timestamp with time zone,
  constraint attempt_pkey PRIMARY KEY (merchant_id, order_id, attempt_no)
) partition by RANGE (order_id);
CREATE INDEX attempt_named ON attempt USING brin (stan text_bloom_ops (n_distinct_per_range='800', false_positive_rate='0.001'), rrn text_bloom_ops (n_distinct_per_range='800', false_positive_rate='0.001')) WITH (pages_per_range='32', autosummarize='on');

create table audit (
  audit_id uuid not null,
  at timestamp with time zone not null,
  who text not null,
  session text not null,
  action text not null,
  subject text not null,
  details jsonb not null,
  no bigint not null,
  hash bytea not null,
  constraint audit_pkey PRIMARY KEY (audit_id),
  constraint audit_no_key UNIQUE (no)
);

create table audit_head (
  only_row boolean not null default true,
  no bigint not null,
  hash bytea not null,
  constraint audit_head_pkey PRIMARY KEY (only_row),
  constraint audit_head_only_row_check CHECK (only_row)
);

create table bin_range (
  first_prefix bigint not null,
  last_prefix bigint not null,
  country text,
  bank text,
  constraint bin_range_pkey PRIMARY KEY (first_prefix),
  constraint bin_range_check CHECK (((last_prefix >= first_prefix) AND (last_prefix <= '99999999999'::bigint))),
  constraint bin_range_first_prefix_check CHECK (((first_prefix >= '10000000000'::bigint) AND (first_prefix <= '99999999999'::bigint)))
);

create table card_number_ref (
  merchant_id bigint not null,
  number_id bytea not null,
  unique_reference bigint not null,
  created_at timestamp with time zone not null,
  constraint card_number_ref_pkey PRIMARY KEY (merchant_id, number_id),
  constraint card_number_ref_unique_reference_merchant_id_key UNIQUE (unique_reference, merchant_id),
  constraint card_number_ref_unique_reference_check CHECK (((unique_reference > 0) AND (unique_reference < '9007199254740992'::bigint)))
);

create table card_range (
  directory text not null,
  start_range text not null,
  end_range text not null,
  acs_start_version text not null,
  acs_end_version text not null,
  ds_start_version text,
  ds_end_version text,
  acs_info_ind text[] not null,
  method_url text,
  constraint card_range_pkey PRIMARY KEY (directory, start_range, end_range)
);

create table card_reference (
  merchant_id bigint not null,
  card_ref_id bigint not null,
  recurring_payment_id bigint not null,
  dst_card_ref_id bigint not null,
  dst_recurring_payment_id bigint not null,
  order_id bigint not null,
  of_destination boolean not null default false,
  pan_sealed bytea not null,
  pan_key bigint not null,
  number_id bytea not null,
  card jsonb not null,
  first_payment jsonb not null,
  created_at timestamp with time zone not null,
  constraint card_reference_pkey PRIMARY KEY (merchant_id, card_ref_id),
  constraint card_reference_dst_card_ref_id_merchant_id_key UNIQUE (dst_card_ref_id, merchant_id),
  constraint card_reference_dst_recurring_payment_id_merchant_id_key UNIQUE (dst_recurring_payment_id, merchant_id),
  constraint card_reference_order_id_merchant_id_key UNIQUE (order_id, merchant_id, of_destination),
  constraint card_reference_recurring_payment_id_merchant_id_key UNIQUE (recurring_payment_id, merchant_id),
  constraint card_reference_merchant_id_number_id_fkey FOREIGN KEY (merchant_id, number_id) REFERENCES card_number_ref(merchant_id, number_id),
  constraint card_reference_card_ref_id_check CHECK (((card_ref_id > 0) AND ((card_ref_id % (4)::bigint) = 0))),
  constraint card_reference_dst_card_ref_id_check CHECK (((dst_card_ref_id > 0) AND ((dst_card_ref_id % (4)::bigint) = 2))),
  constraint card_reference_dst_recurring_payment_id_check CHECK (((dst_recurring_payment_id > 0) AND ((dst_recurring_payment_id % (4)::bigint) = 3))),
  constraint card_reference_recurring_payment_id_check CHECK (((recurring_payment_id > 0) AND ((recurring_payment_id % (4)::bigint) = 1)))
);

create table cell (
  cell_no integer not null,
  address text,
  created_at timestamp with time zone not null,
  constraint cell_pkey PRIMARY KEY (cell_no),
  constraint cell_cell_no_check CHECK (((cell_no >= 0) AND (cell_no <= 4095)))
);

create table config_version (
  only_row boolean not null default true,
  version bigint not null,
  bins bigint not null default 0,
  constraint config_version_pkey PRIMARY KEY (only_row),
  constraint config_version_only_row_check CHECK (only_row)
);

create table delivery (
  merchant_id bigint not null,
  order_id bigint not null,
  delivery_no integer not null,
  transaction_no integer not null,
  kind text not null,
  url text not null,
  origin text not null,
  state text not null default 'due'::text,
  due_at timestamp with time zone,
  lease bigint,
  tries integer not null default 0,
  created_at timestamp with time zone not null,
  done_at timestamp with time zone,
  http_status integer,
  duration_ms integer,
  constraint delivery_pkey PRIMARY KEY (merchant_id, order_id, delivery_no),
  constraint delivery_check CHECK (((state = 'due'::text) = (due_at IS NOT NULL))),
  constraint delivery_state_check CHECK ((state = ANY (ARRAY['due'::text, 'delivered'::text, 'given up'::text])))
) partition by RANGE (order_id);
CREATE INDEX delivery_by_time ON delivery USING brin (created_at) WITH (pages_per_range='32', autosummarize='on');
CREATE INDEX delivery_given_up ON delivery USING btree (created_at) WHERE (state = 'given up'::text);
CREATE INDEX delivery_waiting ON delivery USING btree (merchant_id, due_at) WHERE (due_at IS NOT NULL);

create table delivery_attempt (
  merchant_id bigint not null,
  order_id bigint not null,
  delivery_no integer not null,
  try_no integer not null,
  at timestamp with time zone not null,
  duration_ms integer not null,
  http_status integer,
  failure text,
  answer text,
  constraint delivery_attempt_pkey PRIMARY KEY (merchant_id, order_id, delivery_no, try_no)
) partition by RANGE (order_id);
CREATE INDEX delivery_attempt_by_time ON delivery_attempt USING brin (at) WITH (pages_per_range='16', autosummarize='on');

create table directory_oddity (
  directory text not null,
  what text not null,
  count bigint not null,
  last_at timestamp with time zone not null,
  constraint directory_oddity_pkey PRIMARY KEY (directory, what)
);

create table directory_state (
  directory text not null,
  version bigint not null,
  serial_num text,
  ds_start_version text,
  ds_end_version text,
  asked_at timestamp with time zone,
  refreshed_at timestamp with time zone,
  left_out_count integer not null default 0,
  left_out text[] not null default '{}'::text[],
  constraint directory_state_pkey PRIMARY KEY (directory)
) with (fillfactor=50);

create table duty (
  name text not null,
  due_at timestamp with time zone not null,
  lease bigint,
  tries integer not null,
  error text,
  place json,
  constraint duty_pkey PRIMARY KEY (name)
) with (fillfactor=50);

create table endpoint (
  endpoint_id bigint not null,
  merchant_id bigint not null,
  name text not null,
  enabled boolean not null,
  currency text not null,
  gate_ids bigint[] not null,
  settings jsonb not null,
  created_at timestamp with time zone not null,
  constraint endpoint_pkey PRIMARY KEY (endpoint_id),
  constraint endpoint_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(merchant_id)
);

create table endpoint_group (
  group_id bigint not null,
  merchant_id bigint not null,
  name text not null,
  enabled boolean not null,
  endpoint_ids bigint[] not null,
  created_at timestamp with time zone not null,
  constraint endpoint_group_pkey PRIMARY KEY (group_id),
  constraint endpoint_group_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(merchant_id)
);

create table filter_count (
  merchant_id bigint not null,
  filter_no integer not null,
  key bytea not null,
  buckets jsonb not null,
  until timestamp with time zone not null,
  constraint filter_count_pkey PRIMARY KEY (merchant_id, filter_no, key)
);

create table filter_entry (
  merchant_id bigint not null,
  filter_no integer not null,
  value text not null,
  created_at timestamp with time zone not null,
  constraint filter_entry_pkey PRIMARY KEY (merchant_id, filter_no, value),
  constraint filter_entry_merchant_id_filter_no_fkey FOREIGN KEY (merchant_id, filter_no) REFERENCES filter_rule(merchant_id, filter_no)
);

create table filter_rule (
  merchant_id bigint not null,
  filter_no integer not null,
  endpoint_id bigint,
  name text not null,
  code text not null,
  score integer not null,
  rule jsonb not null,
  created_at timestamp with time zone not null,
  removed_at timestamp with time zone,
  constraint filter_rule_pkey PRIMARY KEY (merchant_id, filter_no),
  constraint filter_rule_code_check CHECK ((code ~ '^3[0-9]{3}$'::text)),
  constraint filter_rule_filter_no_check CHECK ((filter_no > 0)),
  constraint filter_rule_score_check CHECK (((score >= '-1000'::integer) AND (score <= 1000)))
);

create table gate (
  gate_id bigint not null,
  name text not null,
  enabled boolean not null,
  settings jsonb not null,
  secrets_sealed bytea,
  secrets_key bigint,
  mac_key_sealed bytea,
  mac_key_version bigint,
  created_at timestamp with time zone not null,
  constraint gate_pkey PRIMARY KEY (gate_id),
  constraint gate_name_key UNIQUE (name),
  constraint gate_mac_key_whole CHECK (((mac_key_sealed IS NULL) = (mac_key_version IS NULL))),
  constraint gate_secrets_whole CHECK (((secrets_sealed IS NULL) = (secrets_key IS NULL)))
);

create table heartbeat (
  process_id bigint not null,
  instance text not null,
  started_at timestamp with time zone not null,
  beat_at timestamp with time zone not null,
  lapses integer not null default 0,
  lapsed_orders integer not null default 0,
  lapsed_at timestamp with time zone,
  taken_over integer not null default 0,
  taken_over_at timestamp with time zone,
  paused_origins json,
  constraint heartbeat_pkey PRIMARY KEY (process_id)
) with (fillfactor=50);

create table hour_count (
  merchant_id bigint not null,
  hour timestamp with time zone not null,
  key text collate "C" not null,
  ended integer not null,
  constraint hour_count_pkey PRIMARY KEY (merchant_id, hour, key)
);
CREATE INDEX hour_count_by_hour ON hour_count USING brin (hour) WITH (pages_per_range='16', autosummarize='on');

create table id_block (
  name text not null,
  next_id bigint not null,
  constraint id_block_pkey PRIMARY KEY (name)
);

create table idempotency_key (
  merchant_id bigint not null,
  key text not null,
  digest bytea not null,
  order_id bigint not null,
  transaction_no integer not null,
  serial_number uuid not null,
  held_until timestamp with time zone not null,
  constraint idempotency_key_pkey PRIMARY KEY (merchant_id, key)
);
CREATE INDEX idempotency_key_expired ON idempotency_key USING btree (held_until);

create table key_version (
  purpose text not null,
  version bigint not null,
  wrapped bytea not null,
  kek text not null,
  created_at timestamp with time zone not null,
  active_at timestamp with time zone not null,
  constraint key_version_pkey PRIMARY KEY (purpose, version),
  constraint key_version_lasts CHECK ((purpose <> 'cvv2'::text))
);

create table locator (
  key text not null,
  merchant_id bigint not null,
  order_id bigint not null,
  constraint locator_pkey PRIMARY KEY (key)
);

create table merchant (
  merchant_id bigint not null,
  login text not null,
  name text not null,
  enabled boolean not null,
  cell_no integer not null default 0,
  control_key_sealed bytea not null,
  control_key_version bigint not null,
  previous_key_sealed bytea,
  previous_key_version bigint,
  previous_key_until timestamp with time zone,
  signing_secret_sealed bytea,
  signing_secret_key bigint,
  signing_seed_sealed bytea,
  signing_seed_key bigint,
  signed_requests text,
  page jsonb not null default '{}'::jsonb,
  logo bytea,
  created_at timestamp with time zone not null,
  constraint merchant_pkey PRIMARY KEY (merchant_id),
  constraint merchant_login_key UNIQUE (login),
  constraint merchant_cell_no_fkey FOREIGN KEY (cell_no) REFERENCES cell(cell_no),
  constraint merchant_signed_requests_check CHECK ((signed_requests = ANY (ARRAY['follow-ups'::text, 'payments'::text, 'all'::text]))),
  constraint merchant_signing_secret_check CHECK (((signing_secret_sealed IS NULL) = (signing_secret_key IS NULL))),
  constraint merchant_signing_seed_check CHECK (((signing_seed_sealed IS NULL) = (signing_seed_key IS NULL)))
);

create table merchant_key (
  merchant_id bigint not null,
  key_no integer not null,
  name text not null,
  public_key text not null,
  created_at timestamp with time zone not null,
  retired_at timestamp with time zone,
  constraint merchant_key_pkey PRIMARY KEY (merchant_id, key_no),
  constraint merchant_key_merchant_id_public_key_key UNIQUE (merchant_id, public_key),
  constraint merchant_key_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(merchant_id)
);

create table merchant_move (
  merchant_id bigint not null,
  from_cell integer not null,
  to_cell integer not null,
  state text not null,
  mover uuid not null,
  since timestamp with time zone not null,
  constraint merchant_move_pkey PRIMARY KEY (merchant_id),
  constraint merchant_move_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(merchant_id),
  constraint merchant_move_state_check CHECK ((state = ANY (ARRAY['copying'::text, 'closed'::text, 'clearing'::text])))
);

create table merchant_mover (
  merchant_id bigint not null,
  mover uuid not null,
  constraint merchant_mover_pkey PRIMARY KEY (merchant_id)
);

create table migration (
  name text not null,
  sha256 text not null,
  applied_at timestamp with time zone not null,
  constraint migration_pkey PRIMARY KEY (name)
);

create table minute_count (
  merchant_id bigint not null,
  minute timestamp with time zone not null,
  process_id bigint not null,
  key text collate "C" not null,
  ended integer not null,
  constraint minute_count_pkey PRIMARY KEY (merchant_id, minute, process_id, key)
) with (fillfactor=70);
CREATE INDEX minute_count_by_minute ON minute_count USING brin (minute) WITH (pages_per_range='16', autosummarize='on');

create table mobile_invoice (
  merchant_id bigint not null,
  invoice_id text not null,
  endpoint_id bigint not null,
  kind text not null,
  nonce text not null,
  session_token text not null,
  order_id bigint not null,
  digest bytea not null,
  request jsonb not null,
  secrets_sealed bytea,
  secrets_key bigint,
  cvv2_sealed bytea,
  cvv2_key bigint,
  state text not null,
  error_code integer,
  error_message text,
  due_at timestamp with time zone,
  lease bigint,
  tries integer not null,
  alarm text,
  created_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  confirmed jsonb,
  fees jsonb,
  fee jsonb,
  rests_until timestamp with time zone,
  hold_order_id bigint,
  sum_minor bigint,
  page_token text,
  wrong_answers smallint not null default 0,
  sum_status text,
  constraint mobile_invoice_pkey PRIMARY KEY (merchant_id, invoice_id),
  constraint mobile_invoice_nonce_merchant_id_key UNIQUE (nonce, merchant_id),
  constraint mobile_invoice_cvv2_check CHECK (((state <> ALL (ARRAY['releasing'::text, 'ordered'::text, 'declined'::text])) OR (cvv2_sealed IS NULL))),
  constraint mobile_invoice_due_check CHECK (((state = ANY (ARRAY['ordered'::text, 'declined'::text])) = (due_at IS NULL))),
  constraint mobile_invoice_hold_check CHECK (((state <> ALL (ARRAY['holding'::text, 'answering'::text, 'releasing'::text])) OR ((hold_order_id IS NOT NULL) AND (sum_minor IS NOT NULL) AND (page_token IS NOT NULL)))),
  constraint mobile_invoice_kind_check CHECK ((kind = ANY (ARRAY['verification'::text, 'sale'::text, 'transfer'::text]))),
  constraint mobile_invoice_rest_check CHECK (((state <> ALL (ARRAY['choosing'::text, 'answering'::text])) OR (rests_until IS NOT NULL))),
  constraint mobile_invoice_secrets_check CHECK ((((secrets_sealed IS NULL) = (secrets_key IS NULL)) AND ((secrets_sealed IS NOT NULL) OR (state = ANY (ARRAY['ordered'::text, 'declined'::text]))))),
  constraint mobile_invoice_state_check CHECK ((state = ANY (ARRAY['checking'::text, 'choosing'::text, 'holding'::text, 'answering'::text, 'ordering'::text, 'releasing'::text, 'ordered'::text, 'declined'::text]))),
  constraint mobile_invoice_sum_status_check CHECK ((sum_status = ANY (ARRAY['AUTHENTICATED'::text, 'NOT_AUTHENTICATED'::text]))),
  constraint mobile_invoice_wrong_answers_check CHECK (((wrong_answers >= 0) AND (wrong_answers <= 3)))
);
CREATE INDEX mobile_invoice_due ON mobile_invoice USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE UNIQUE INDEX mobile_invoice_page_token ON mobile_invoice USING btree (page_token, merchant_id) WHERE (page_token IS NOT NULL);
CREATE INDEX mobile_invoice_parked ON mobile_invoice USING btree (invoice_id) WHERE (alarm IS NOT NULL);

create table nonce (
  merchant_id bigint not null,
  nonce text not null,
  expires_at timestamp with time zone not null,
  constraint nonce_pkey PRIMARY KEY (merchant_id, nonce)
);
CREATE INDEX nonce_expired ON nonce USING btree (expires_at);

create table operator_challenge (
  network text not null,
  place integer not null,
  digest bytea not null,
  purpose text not null,
  expires_at timestamp with time zone not null,
  constraint operator_challenge_pkey PRIMARY KEY (network, place),
  constraint operator_challenge_digest_key UNIQUE (digest)
);

create table operator_factor (
  factor_id bigint not null,
  user_id bigint not null,
  kind text not null,
  digest bytea,
  hashed jsonb,
  secret_sealed bytea,
  secret_key bigint,
  step bigint,
  facts jsonb,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  used_at timestamp with time zone,
  ended_at timestamp with time zone,
  constraint operator_factor_pkey PRIMARY KEY (factor_id),
  constraint operator_factor_user_id_fkey FOREIGN KEY (user_id) REFERENCES operator_user(user_id)
);
CREATE UNIQUE INDEX operator_factor_digest ON operator_factor USING btree (digest) WHERE (ended_at IS NULL);
CREATE INDEX operator_factor_user ON operator_factor USING btree (user_id);

create table operator_failure (
  kind text not null,
  name text not null,
  failures integer not null,
  last_ms bigint not null,
  constraint operator_failure_pkey PRIMARY KEY (kind, name)
);

create table operator_request (
  token_id bigint not null,
  key text not null,
  asked bytea not null,
  status smallint,
  reply text,
  created_at timestamp with time zone not null,
  constraint operator_request_pkey PRIMARY KEY (token_id, key)
);
CREATE INDEX operator_request_age ON operator_request USING btree (created_at);

create table operator_session (
  session_id bigint not null,
  user_id bigint not null,
  digest bytea not null,
  proven_at timestamp with time zone,
  vouched boolean not null,
  address text not null,
  agent text not null,
  created_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint operator_session_pkey PRIMARY KEY (session_id),
  constraint operator_session_digest_key UNIQUE (digest),
  constraint operator_session_user_id_fkey FOREIGN KEY (user_id) REFERENCES operator_user(user_id)
);
CREATE INDEX operator_session_user ON operator_session USING btree (user_id);

create table operator_token (
  token_id bigint not null,
  user_id bigint not null,
  digest bytea not null,
  role text not null,
  merchant_id bigint,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  created_at timestamp with time zone not null,
  constraint operator_token_pkey PRIMARY KEY (token_id),
  constraint operator_token_digest_key UNIQUE (digest),
  constraint operator_token_user_id_fkey FOREIGN KEY (user_id) REFERENCES operator_user(user_id)
);
CREATE INDEX operator_token_user ON operator_token USING btree (user_id);

create table operator_user (
  user_id bigint not null,
  name text not null,
  role text not null,
  merchant_id bigint,
  enabled boolean not null,
  created_at timestamp with time zone not null,
  constraint operator_user_pkey PRIMARY KEY (user_id),
  constraint operator_user_name_key UNIQUE (name)
);

create table operator_view (
  user_id bigint not null,
  name text not null,
  address text not null,
  constraint operator_view_pkey PRIMARY KEY (user_id, name),
  constraint operator_view_user_id_fkey FOREIGN KEY (user_id) REFERENCES operator_user(user_id)
);

create table order_event (
  merchant_id bigint not null,
  order_id bigint not null,
  event_no integer not null,
  moves text[] not null,
  transaction_nos integer[] not null,
  facts json,
  at timestamp with time zone not null,
  constraint order_event_pkey PRIMARY KEY (merchant_id, order_id, event_no),
  constraint order_event_check CHECK ((cardinality(moves) = cardinality(transaction_nos))),
  constraint order_event_moves_check CHECK ((moves <@ ARRAY['new>accepted>filtering'::text, 'filtering>screened clean>ready'::text, 'filtering>filtered>filtered'::text, 'filtering>card expired>declined'::text, 'filtering>refused>declined'::text, 'filtering>authentication begun>awaiting method'::text, 'filtering>authentication waived>ready'::text, 'filtering>not authenticated>declined'::text, 'awaiting method>method begun>awaiting method'::text, 'awaiting method>method uploaded>authenticating'::text, 'awaiting method>not authenticated>declined'::text, 'authenticating>authenticated>ready'::text, 'authenticating>not authenticated>declined'::text, 'authenticating>challenge required>awaiting challenge'::text, 'awaiting challenge>challenge returned>awaiting challenge'::text, 'awaiting challenge>authenticated>ready'::text, 'awaiting challenge>not authenticated>declined'::text, 'awaiting challenge>result missing>error'::text, 'authorising>authentication demanded>authenticating'::text, 'filtering>enrolment unknown>enrolling'::text, 'enrolling>payer authentication required>awaiting pares'::text, 'enrolling>authenticated>ready'::text, 'enrolling>not authenticated>declined'::text, 'awaiting pares>authenticated>ready'::text, 'awaiting pares>not authenticated>declined'::text, 'ready>attempt recorded>authorising'::text, 'ready>no gate>error'::text, 'authorising>approved>approved'::text, 'authorising>declined>declined'::text, 'authorising>amount declined>ready'::text, 'authorising>not sent>error'::text, 'authorising>answer lost>unknown'::text, 'authorising>answer awaited>authorising'::text, 'authorising>lease lost>unknown'::text, 'unknown>reversed>error'::text, 'authorising>debited>crediting'::text, 'crediting>credited>approved'::text, 'crediting>credit refused>returning'::text, 'returning>debit returned>declined'::text, 'returning>reversed>error'::text, 'new>requested>ready'::text, 'new>owed>owed'::text, 'owed>attempt recorded>reversing'::text, 'reversing>taken up>reversing'::text, 'reversing>reversal unanswered>reversing'::text, 'reversing>reversal acknowledged>approved'::text]))
) partition by RANGE (order_id);

create table order_facts (
  merchant_id bigint not null,
  order_id bigint not null,
  request json not null,
  card json not null,
  card_hash text not null,
  screening json,
  pan_sealed bytea,
  pan_key bigint,
  cvv2_sealed bytea,
  cvv2_key bigint,
  destination_sealed bytea,
  constraint order_facts_pkey PRIMARY KEY (merchant_id, order_id),
  constraint order_facts_card_check CHECK (((pan_sealed IS NULL) = (pan_key IS NULL))),
  constraint order_facts_cvv2_check CHECK (((cvv2_sealed IS NULL) = (cvv2_key IS NULL)))
) partition by RANGE (order_id);
CREATE INDEX order_facts_digits ON order_facts USING brin ((("left"(split_part((card)::text, '"bin":"'::text, 2), 6) || "left"(split_part((card)::text, '"lastFour":"'::text, 2), 4))) text_bloom_ops (n_distinct_per_range='800', false_positive_rate='0.001')) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX orders_by_card ON order_facts USING btree (card_hash);

create table order_key (
  merchant_id bigint not null,
  client_orderid text not null,
  order_id bigint not null,
  live boolean not null,
  digest bytea not null,
  created_at timestamp with time zone not null,
  held_until timestamp with time zone not null,
  constraint order_key_pkey PRIMARY KEY (merchant_id, client_orderid)
) with (fillfactor=80);

create table orders (
  merchant_id bigint not null,
  order_id bigint not null,
  version integer not null,
  kind text not null,
  client_orderid text not null,
  path_id bigint not null,
  endpoint_id bigint not null,
  currency text not null,
  amount_minor bigint not null,
  amount_text text not null,
  authorised_minor bigint not null,
  authorised_text text not null,
  captured_minor bigint not null default 0,
  returned_minor bigint not null default 0,
  status text not null,
  created_at timestamp with time zone not null,
  final_at timestamp with time zone,
  serial_number uuid,
  state text not null,
  result json not null,
  authentication json,
  step text,
  due_at timestamp with time zone,
  lease bigint,
  tries integer not null,
  alarm text,
  transactions integer not null,
  attempts integer not null,
  events integer not null,
  deliveries integer not null,
  gate_id bigint,
  terminal_id text,
  stan text,
  rrn text,
  started_at timestamp with time zone,
  deadline_at timestamp with time zone,
  outcome text,
  action_code text,
  why text,
  ended_at timestamp with time zone,
  unusual text generated always as (
CASE
    WHEN (status = ANY (ARRAY['unknown'::text, 'error'::text, 'filtered'::text])) THEN status
    ELSE NULL::text
END) stored,
  constraint orders_pkey PRIMARY KEY (merchant_id, order_id),
  constraint orders_amount_minor_check CHECK ((amount_minor >= 0)),
  constraint orders_attempt_check CHECK ((num_nulls(gate_id, terminal_id, stan, rrn, started_at, deadline_at) = ANY (ARRAY[0, 6]))),
  constraint orders_captured_check CHECK (((captured_minor >= 0) AND (captured_minor <= authorised_minor))),
  constraint orders_returned_check CHECK (((returned_minor >= 0) AND (returned_minor <= captured_minor))),
  constraint orders_step_check CHECK (((step IS NULL) = (due_at IS NULL)))
) partition by RANGE (order_id);
CREATE INDEX orders_by_name ON orders USING btree (client_orderid, merchant_id);
CREATE INDEX orders_by_time ON orders USING btree (created_at, merchant_id);
CREATE INDEX orders_due ON orders USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX orders_named ON orders USING brin (serial_number uuid_bloom_ops (n_distinct_per_range='400', false_positive_rate='0.001'), stan text_bloom_ops (n_distinct_per_range='400', false_positive_rate='0.001'), rrn text_bloom_ops (n_distinct_per_range='400', false_positive_rate='0.001'), split_part(split_part((result)::text, '"rrn":"'::text, 2), '"'::text, 1) text_bloom_ops (n_distinct_per_range='400', false_positive_rate='0.001'), split_part(split_part((result)::text, '"approvalCode":"'::text, 2), '"'::text, 1) text_bloom_ops (n_distinct_per_range='400', false_positive_rate='0.001')) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX orders_parked ON orders USING btree (order_id) WHERE (alarm IS NOT NULL);
CREATE INDEX orders_unusual ON orders USING btree (unusual, created_at) WHERE (unusual IS NOT NULL);

create table peer (
  instance text not null,
  url text not null,
  cells integer[] not null,
  beat_at timestamp with time zone not null,
  constraint peer_pkey PRIMARY KEY (instance)
);

create table proposal (
  proposal_id bigint not null,
  user_id bigint not null,
  merchant_id bigint,
  action text not null,
  rule text not null,
  asked_sealed bytea,
  asked_key bigint,
  version text,
  created_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  decided_at timestamp with time zone,
  decided_by text,
  outcome text,
  constraint proposal_pkey PRIMARY KEY (proposal_id),
  constraint proposal_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant(merchant_id),
  constraint proposal_user_id_fkey FOREIGN KEY (user_id) REFERENCES operator_user(user_id)
);

create table proposal_rules (
  only_row boolean not null default true,
  rules jsonb not null,
  constraint proposal_rules_pkey PRIMARY KEY (only_row),
  constraint proposal_rules_only_row_check CHECK (only_row)
);

create table request (
  merchant_id bigint not null,
  order_id bigint not null,
  serial_number uuid not null,
  operation text not null,
  transaction_no integer not null,
  at timestamp with time zone not null,
  constraint request_pkey PRIMARY KEY (merchant_id, order_id, serial_number)
) partition by RANGE (order_id);
CREATE INDEX request_named ON request USING brin (serial_number uuid_bloom_ops (n_distinct_per_range='1200', false_positive_rate='0.001')) WITH (pages_per_range='16', autosummarize='on');

create table resealing (
  table_name text not null,
  version bigint not null,
  due_at timestamp with time zone not null,
  lease bigint,
  after text[],
  rows bigint not null,
  ended_at timestamp with time zone,
  constraint resealing_pkey PRIMARY KEY (table_name)
);

create table setting_change (
  change_id bigint not null,
  entity text not null,
  entity_id bigint not null,
  merchant_id bigint,
  action text not null,
  who text not null,
  at timestamp with time zone not null,
  before jsonb,
  after jsonb not null,
  secrets text[] not null,
  undoes bigint,
  constraint setting_change_pkey PRIMARY KEY (change_id)
);
CREATE INDEX setting_change_by_entity ON setting_change USING btree (entity, entity_id, merchant_id, change_id);

create table transaction (
  merchant_id bigint not null,
  order_id bigint not null,
  transaction_no integer not null,
  kind text not null,
  origin text not null,
  serial_number uuid,
  parent_no integer,
  state text not null,
  amount_minor bigint not null,
  amount_text text not null,
  result json not null,
  authentication json,
  asked json,
  step text,
  due_at timestamp with time zone,
  lease bigint,
  tries integer not null,
  alarm text,
  created_at timestamp with time zone not null,
  final_at timestamp with time zone,
  constraint transaction_pkey PRIMARY KEY (merchant_id, order_id, transaction_no),
  constraint transaction_amount_minor_check CHECK ((amount_minor >= 0)),
  constraint transaction_number_check CHECK ((transaction_no > 1)),
  constraint transaction_origin_check CHECK ((origin = ANY (ARRAY['request'::text, 'gateway'::text]))),
  constraint transaction_serial_check CHECK (((serial_number IS NULL) = (origin = 'gateway'::text))),
  constraint transaction_step_check CHECK (((step IS NULL) = (due_at IS NULL)))
) partition by RANGE (order_id);
CREATE INDEX transaction_due ON transaction USING btree (due_at) WHERE (due_at IS NOT NULL);
CREATE INDEX transaction_named ON transaction USING brin (serial_number uuid_bloom_ops (n_distinct_per_range='600', false_positive_rate='0.001'), split_part(split_part((result)::text, '"rrn":"'::text, 2), '"'::text, 1) text_bloom_ops (n_distinct_per_range='600', false_positive_rate='0.001'), split_part(split_part((result)::text, '"approvalCode":"'::text, 2), '"'::text, 1) text_bloom_ops (n_distinct_per_range='600', false_positive_rate='0.001')) WITH (pages_per_range='64', autosummarize='on');
CREATE INDEX transaction_parked ON transaction USING btree (order_id) WHERE (alarm IS NOT NULL);

create table wrong_sum (
  card_hash text not null,
  wrong_at timestamp with time zone[] not null,
  last_at timestamp with time zone not null,
  constraint wrong_sum_pkey PRIMARY KEY (card_hash)
);
CREATE INDEX wrong_sum_by_time ON wrong_sum USING btree (last_at);

create view all_attempts as
 SELECT orders.merchant_id, orders.order_id, 1 AS attempt_no, 1 AS transaction_no, orders.gate_id, orders.terminal_id,
    orders.stan, orders.rrn, orders.started_at, orders.deadline_at, orders.outcome, orders.action_code, orders.why,
    orders.ended_at
   FROM orders
  WHERE orders.gate_id IS NOT NULL
UNION ALL
 SELECT attempt.merchant_id, attempt.order_id, attempt.attempt_no, attempt.transaction_no, attempt.gate_id,
    attempt.terminal_id, attempt.stan, attempt.rrn, attempt.started_at, attempt.deadline_at, attempt.outcome,
    attempt.action_code, attempt.why, attempt.ended_at
   FROM attempt;

create view all_events as
 SELECT e.merchant_id, e.order_id, e.event_no + (m.at - 1)::integer AS event_no,
    e.transaction_nos[m.at] AS transaction_no, split_part(m.move, '>'::text, 2) AS event,
    split_part(m.move, '>'::text, 1) AS from_state, split_part(m.move, '>'::text, 3) AS to_state,
        CASE
            WHEN json_typeof(e.facts -> (m.at - 1)::integer) <> 'null'::text THEN e.facts -> (m.at - 1)::integer
            ELSE NULL::json
        END AS facts,
    e.at
   FROM order_event e
     CROSS JOIN LATERAL unnest(e.moves) WITH ORDINALITY m(move, at);

create view all_transactions as
 SELECT orders.merchant_id, orders.order_id, 1 AS transaction_no, orders.kind, 'request'::text AS origin,
    orders.serial_number, NULL::integer AS parent_no, orders.state, orders.authorised_minor AS amount_minor,
    orders.authorised_text AS amount_text, orders.result, orders.authentication, NULL::json AS asked, orders.step,
    orders.due_at, orders.lease, orders.tries, orders.alarm, orders.created_at, orders.final_at
   FROM orders
UNION ALL
 SELECT transaction.merchant_id, transaction.order_id, transaction.transaction_no, transaction.kind, transaction.origin,
    transaction.serial_number, transaction.parent_no, transaction.state, transaction.amount_minor,
    transaction.amount_text, transaction.result, transaction.authentication, transaction.asked, transaction.step,
    transaction.due_at, transaction.lease, transaction.tries, transaction.alarm, transaction.created_at,
    transaction.final_at
   FROM transaction;

create view all_tries as
 SELECT delivery.merchant_id, delivery.order_id, delivery.delivery_no, 1 AS try_no, delivery.done_at AS at,
    delivery.duration_ms, delivery.http_status, NULL::text AS failure, NULL::text AS answer
   FROM delivery
  WHERE delivery.duration_ms IS NOT NULL
UNION ALL
 SELECT delivery_attempt.merchant_id, delivery_attempt.order_id, delivery_attempt.delivery_no, delivery_attempt.try_no,
    delivery_attempt.at, delivery_attempt.duration_ms, delivery_attempt.http_status, delivery_attempt.failure,
    delivery_attempt.answer
   FROM delivery_attempt;
