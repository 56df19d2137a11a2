import type { Pool } from '../../src/storage/pool.ts'

/**
 * The tables of the merchant's server, in a schema of their own, so that they may share a database
 * with others. Each statement may run again. An access token is kept as its SHA-256 alone: who
 * reads the table cannot act for a consumer.
 */
const tables = [
  `create schema if not exists merchant_server`,
  `create table if not exists merchant_server.consumers (
    consumer text primary key,
    email    text
  )`,
  `create table if not exists merchant_server.access_tokens (
    token_hash    text primary key,
    consumer      text not null references merchant_server.consumers,
    -- Of the first device that initiated with it; no other may use it then.
    serial_number text,
    expires_at    timestamptz not null
  )`,
  `create index if not exists access_tokens_expires_at on merchant_server.access_tokens (expires_at)`,
  `create table if not exists merchant_server.invoices (
    invoice_id     text primary key,
    kind           text not null check (kind in ('verification', 'sale', 'transfer')),
    state          text not null check (state in ('initiated', 'checked', 'notified')),
    endpoint_id    text not null,
    consumer       text not null references merchant_server.consumers,
    token_hash     text not null,
    serial_number  text not null,
    nonce          text not null,
    currency       text not null,
    amount_centis  bigint check ((amount_centis is null) = (kind = 'verification')),
    created_at     timestamptz not null,
    -- Known from the first check on, with what it asked and what it was answered: the same question has the same answer.
    session_token  text unique,
    check_question text,
    check_answer   text,
    -- Sent to the gateway in the check, and kept with the cards that come of it.
    email          text,
    cards_noted    text,
    check ((state = 'initiated') = (session_token is null))
  )`,
  `create table if not exists merchant_server.cards (
    consumer                 text not null references merchant_server.consumers,
    client_card_id           text not null unique,
    -- What makes it the same card: its unique reference where the gateway sent one, else its server card id.
    card_key                 text not null,
    server_card_id           text not null,
    unique_reference_card_id bigint,
    bin                      integer,
    email                    text,
    mapped_at                timestamptz not null,
    primary key (consumer, card_key)
  )`,
  // False of a card that money was sent to and that never paid: its server card id may be good for
  // nothing else.
  `alter table merchant_server.cards add column if not exists pays boolean not null default true`,
  `create table if not exists merchant_server.calls (
    call_no    bigint generated always as identity primary key,
    called_at  timestamptz not null,
    path       text not null,
    invoice_id text not null,
    request    json,
    status     integer not null,
    reply      json not null,
    signed     json not null
  )`,
]

/**
 * An arbitrary number. The lock keeps two servers that start together from creating the same
 * tables.
 */
const lockNo = 7_264_119

export async function makeTables(pool: Pool): Promise<void> {
  const connection = await pool.connect()
  let broken = true
  try {
    for (const sql of ['begin', `select pg_advisory_xact_lock(${lockNo})`, ...tables, 'commit']) await connection.command(sql)
    broken = false
  } finally {
    connection.release(broken)
  }
}
