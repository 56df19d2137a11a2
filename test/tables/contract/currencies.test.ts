import assert from 'node:assert/strict'
import { test } from 'node:test'
import { currencyOf, currencyOfNumeric, currentCurrencyOf, decimalToMinor, mostMinor } from '../../../src/base/money.ts'
import { amount, orderCurrency, readCurrency } from '../../../src/spec/kinds.ts'
import { isUnfit } from '../../../src/spec/field.ts'
import { minorOfCentis } from '../../../src/mobile-api/sum/centis.ts'

/** List one of ISO 4217 as published on 2026-09-17: code, number, decimals. */
const published = '2026-09-17'
const listOne = `
AED 784 2 AFN 971 2 ALL 008 2 AMD 051 2 AOA 973 2 ARS 032 2 AUD 036 2 AWG 533 2 AZN 944 2 BAM 977 2 BBD 052 2 BDT 050 2 BHD 048 3
BIF 108 0 BMD 060 2 BND 096 2 BOB 068 2 BOV 984 2 BRL 986 2 BSD 044 2 BTN 064 2 BWP 072 2 BYN 933 2 BZD 084 2 CAD 124 2 CDF 976 2
CHE 947 2 CHF 756 2 CHW 948 2 CLF 990 4 CLP 152 0 CNY 156 2 COP 170 2 COU 970 2 CRC 188 2 CUP 192 2 CVE 132 2 CZK 203 2 DJF 262 0
DKK 208 2 DOP 214 2 DZD 012 2 EGP 818 2 ERN 232 2 ETB 230 2 EUR 978 2 FJD 242 2 FKP 238 2 GBP 826 2 GEL 981 2 GHS 936 2 GIP 292 2
GMD 270 2 GNF 324 0 GTQ 320 2 GYD 328 2 HKD 344 2 HNL 340 2 HTG 332 2 HUF 348 2 IDR 360 2 ILS 376 2 INR 356 2 IQD 368 3 IRR 364 2
ISK 352 0 JMD 388 2 JOD 400 3 JPY 392 0 KES 404 2 KGS 417 2 KHR 116 2 KMF 174 0 KPW 408 2 KRW 410 0 KWD 414 3 KYD 136 2 KZT 398 2
LAK 418 2 LBP 422 2 LKR 144 2 LRD 430 2 LSL 426 2 LYD 434 3 MAD 504 2 MDL 498 2 MGA 969 2 MKD 807 2 MMK 104 2 MNT 496 2 MOP 446 2
MRU 929 2 MUR 480 2 MVR 462 2 MWK 454 2 MXN 484 2 MXV 979 2 MYR 458 2 MZN 943 2 NAD 516 2 NGN 566 2 NIO 558 2 NOK 578 2 NPR 524 2
NZD 554 2 OMR 512 3 PAB 590 2 PEN 604 2 PGK 598 2 PHP 608 2 PKR 586 2 PLN 985 2 PYG 600 0 QAR 634 2 RON 946 2 RSD 941 2 RUB 643 2
RWF 646 0 SAR 682 2 SBD 090 2 SCR 690 2 SDG 938 2 SEK 752 2 SGD 702 2 SHP 654 2 SLE 925 2 SOS 706 2 SRD 968 2 SSP 728 2 STN 930 2
SVC 222 2 SYP 760 2 SZL 748 2 THB 764 2 TJS 972 2 TMT 934 2 TND 788 3 TOP 776 2 TRY 949 2 TTD 780 2 TWD 901 2 TZS 834 2 UAH 980 2
UGX 800 0 USD 840 2 USN 997 2 UYI 940 0 UYU 858 2 UYW 927 4 UZS 860 2 VED 926 2 VES 928 2 VND 704 0 VUV 548 0 WST 882 2 XAD 396 2
XAF 950 0 XAG 961 0 XAU 959 0 XBA 955 0 XBB 956 0 XBC 957 0 XBD 958 0 XCD 951 2 XCG 532 2 XDR 960 0 XOF 952 0 XPD 964 0 XPF 953 0
XPT 962 0 XSU 994 0 XTS 963 0 XUA 965 0 XXX 999 0 YER 886 2 ZAR 710 2 ZMW 967 2 ZWG 924 2`

const expected = [...listOne.matchAll(/([A-Z]{3}) ([0-9]{3}) ([0-9])/g)].map(([, code, numeric, exponent]) => ({
  code: code!,
  numeric: numeric!,
  exponent: Number(exponent),
}))

/** Currencies that ended lately: stored orders may have them. */
const ended = ['ANG', 'BGN', 'CUC']

test(`a new payment may be in each currency of ISO 4217 as published on ${published}, and in no other`, () => {
  assert.equal(expected.length, 178)
  const letters = Array.from({ length: 26 }, (_, i) => String.fromCharCode(65 + i))
  const all = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)))
  assert.deepEqual(
    all.flatMap((code) => currentCurrencyOf(code) ?? []),
    expected,
  )
  for (const currency of expected) assert.deepEqual(currencyOfNumeric(currency.numeric), currency)
})

test('a currency that ended is read where an order is in it, and refused for a new one', () => {
  for (const code of ended) {
    assert.equal(currencyOf(code)?.exponent, 2, code)
    assert.ok(isUnfit(readCurrency(code)), code)
    assert.deepEqual(
      orderCurrency.read(code, () => undefined),
      currencyOf(code),
    )
  }
  assert.equal(currencyOf('HRK'), undefined)
})

test('an amount has at most twelve digits in minor units, the most that field 4 of ISO 8583 has', () => {
  const read = (text: string, currency: string) => amount(20).read(text, () => currency)
  // oxfmt-ignore
  const cases: [text: string, currency: string, fits: boolean][] = [
    ['999999999.999', 'KWD', true],
    ['1000000000',    'KWD', false],
    ['9999999999.99', 'USD', true],
    ['10000000000',   'USD', false],
    ['999999999999',  'JPY', true],
    ['1000000000000', 'JPY', false],
    ['99999999.9999', 'CLF', true],
    ['100000000',     'CLF', false],
  ]
  for (const [text, currency, fits] of cases) assert.equal(isUnfit(read(text, currency)), !fits, `${text} ${currency}`)
  assert.equal(decimalToMinor('999999999.999', 3), mostMinor)
  assert.deepEqual([minorOfCentis(99_999_999_999, 'KWD'), minorOfCentis(100_000_000_000, 'KWD')], [999_999_999_990n, undefined])
})
