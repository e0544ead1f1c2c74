import t from '../../support/tap.ts'
import { cookieValues } from '../../../lib/http/edge/cookie-jar.ts'

const values = (cookie: string | undefined, name = 'sid'): string[] =>
  cookieValues({ headers: cookie === undefined ? {} : { cookie } }, name)

t.test('returns every value of a cookie name in the order of the header', async (t) => {
  t.strictSame(values(undefined), [])
  t.strictSame(values(''), [])
  t.strictSame(values('sid=1'), ['1'])
  t.strictSame(values('a=0; sid=1;sid=2;   sid=3 ; b=4'), ['1', '2', '3'])
  t.strictSame(values('sid='), [''])
  t.strictSame(values('sid=a=b'), ['a=b'])
})

t.test('ignores a cookie whose name only starts or ends with the given name', async (t) => {
  t.strictSame(values('sid2=1; xsid=2; sid; SID=3; __Host-sid=4'), [])
  t.strictSame(values('__Host-sid=4', '__Host-sid'), ['4'])
})
