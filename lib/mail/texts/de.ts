import type { MailTexts } from '../mail-texts.ts'

export const DE: MailTexts = {
  password_reset: {
    heading: 'Neues Passwort festlegen',
    text: 'Jemand hat einen Link angefordert, um für Ihr Konto ein neues Passwort festzulegen.',
    button: 'Neues Passwort festlegen',
    otherwise: 'Wenn Sie das nicht waren, können Sie diese Nachricht ignorieren: Ihr Passwort bleibt, wie es ist.'
  },
  verify_email: {
    heading: 'E-Mail-Adresse bestätigen',
    text: 'Jemand hat sich mit dieser E-Mail-Adresse registriert. Wenn Sie das waren, bestätigen Sie die Adresse.',
    button: 'Adresse bestätigen',
    otherwise: 'Wenn Sie das nicht waren, bestätigen Sie sie nicht. Sie können diese Nachricht ignorieren.'
  },
  already_registered: {
    heading: 'Sie haben schon ein Konto',
    text: 'Jemand hat sich mit dieser E-Mail-Adresse registriert, aber zu ihr gibt es schon ein Konto. Wenn Sie das waren, melden Sie sich mit Ihrem Passwort an, oder legen Sie hier ein neues fest.',
    button: 'Neues Passwort festlegen',
    otherwise: 'Wenn Sie das nicht waren, können Sie diese Nachricht ignorieren.'
  },
  password_changed: {
    heading: 'Ihr Passwort wurde geändert',
    text: 'Das Passwort Ihres Kontos wurde geändert, und alle anderen Geräte wurden abgemeldet.',
    otherwise: 'Wenn Sie das nicht waren, legen Sie sofort ein neues Passwort fest: Wählen Sie auf der Anmeldeseite „Passwort vergessen?“.'
  },
  new_sign_in: {
    heading: 'Neue Anmeldung bei Ihrem Konto',
    text: 'Bei Ihrem Konto gab es eine Anmeldung mit einem Gerät oder Browser, mit dem sich dort bisher niemand angemeldet hat.',
    otherwise: 'Wenn Sie das nicht waren, legen Sie sofort ein neues Passwort fest: Wählen Sie auf der Anmeldeseite „Passwort vergessen?“.'
  },
  validity: 'Der Link gilt {duration} lang und funktioniert einmal.',
  hint: 'Wenn die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse:',
  account: 'Konto: {username}'
}
