import type { MailTexts } from '../mail-texts.ts'

export const DE = (): MailTexts => ({
  password_reset: {
    heading: 'Neues Passwort festlegen',
    text: 'Jemand hat einen Link angefordert, um für Ihr Konto ein neues Passwort festzulegen.',
    button: 'Neues Passwort festlegen',
    otherwise: 'Wenn Sie das nicht waren, können Sie diese Nachricht ignorieren: Es ändert sich nichts.'
  },
  verify_email: {
    heading: 'E-Mail-Adresse bestätigen',
    text: 'Jemand hat sich mit dieser E-Mail-Adresse registriert. Wenn Sie das waren, bestätigen Sie die Adresse.',
    button: 'Adresse bestätigen',
    otherwise: 'Wenn Sie das nicht waren, bestätigen Sie sie nicht. Sie können diese Nachricht ignorieren.'
  },
  already_registered: {
    heading: 'Sie haben schon ein Konto',
    text: 'Jemand wollte sich mit dieser E-Mail-Adresse registrieren, aber zu ihr gibt es schon ein Konto. Wenn Sie das waren, melden Sie sich an, oder legen Sie hier ein neues Passwort fest.',
    button: 'Neues Passwort festlegen',
    otherwise: 'Wenn Sie das nicht waren, können Sie diese Nachricht ignorieren.'
  },
  password_changed: {
    heading: 'Ihr Passwort wurde geändert',
    text: 'Das Passwort Ihres Kontos wurde geändert, und alle anderen Geräte wurden abgemeldet.'
  },
  new_sign_in: {
    heading: 'Neue Anmeldung bei Ihrem Konto',
    text: 'Bei Ihrem Konto gab es eine Anmeldung mit einem Gerät oder Browser, mit dem sich dort bisher niemand angemeldet hat.',
    button: 'Konto prüfen'
  },
  email_change: {
    heading: 'Neue E-Mail-Adresse bestätigen',
    text: 'Jemand möchte diese E-Mail-Adresse für sein Konto verwenden. Wenn Sie das waren, bestätigen Sie die Adresse: Von da an gilt sie anstelle der bisherigen.',
    button: 'Adresse bestätigen',
    otherwise: 'Wenn Sie das nicht waren, bestätigen Sie sie nicht. Sie können diese Nachricht ignorieren.'
  },
  email_change_requested: {
    heading: 'Eine andere E-Mail-Adresse wurde angefordert',
    text: 'Jemand möchte die E-Mail-Adresse Ihres Kontos durch eine andere ersetzen. Das geschieht, sobald der Link verwendet wird, der an jene Adresse gesendet wurde.',
    otherwise: 'Wenn Sie das nicht waren, legen Sie sofort ein neues Passwort fest: Wählen Sie auf der Anmeldeseite „Passwort vergessen?“. Damit werden alle abgemeldet, und die Änderung wird gestoppt.'
  },
  email_changed: {
    heading: 'Ihre E-Mail-Adresse wurde geändert',
    text: 'Ihr Konto hat jetzt eine andere E-Mail-Adresse. An diese hier gehen keine Nachrichten mehr, und Links, die an sie gesendet wurden, funktionieren nicht mehr.',
    otherwise: 'Wenn Sie das nicht waren, wenden Sie sich sofort an uns.'
  },
  account_removed_user: {
    heading: 'Ihr Konto wurde gelöscht',
    text: 'Ihr Konto wurde gelöscht, weil jemand, der dort angemeldet war, es so wollte. Alle Geräte wurden abgemeldet.',
    otherwise: 'Wenn Sie das nicht waren, wenden Sie sich sofort an uns.'
  },
  account_removed_host: {
    heading: 'Ihr Konto wurde gelöscht',
    text: 'Wir haben Ihr Konto gelöscht. Alle Geräte wurden abgemeldet.'
  },
  identity_linked: {
    heading: 'Neuer Weg zur Anmeldung in Ihrem Konto',
    text: 'Ein Konto bei einem anderen Anbieter wurde mit Ihrem Konto verbunden. Wer sich dort anmeldet, ist auch in Ihrem Konto angemeldet.',
    otherwise: 'Wenn Sie das nicht waren, trennen Sie es sofort auf Ihrer Kontoseite und legen Sie ein neues Passwort fest.'
  },
  identity_unlinked: {
    heading: 'Ein Weg zur Anmeldung in Ihrem Konto wurde entfernt',
    text: 'Ein Konto bei einem anderen Anbieter wurde von Ihrem Konto getrennt. Damit kann sich niemand mehr in Ihrem Konto anmelden.'
  },
  second_factor_failed: {
    heading: 'Eine Anmeldung kam nicht über den zweiten Schritt hinaus',
    text: 'Jemand hat bei einer Anmeldung an Ihrem Konto den ersten Schritt geschafft, ist aber am zweiten gescheitert.'
  },
  factor_added_totp: {
    heading: 'Eine Authenticator-App wurde hinzugefügt',
    text: 'Für Ihr Konto wurde eine Authenticator-App eingerichtet. Die Codes der App gelten von jetzt an bei der Anmeldung.'
  },
  factor_added_passkey: {
    heading: 'Ein Passkey wurde hinzugefügt',
    text: 'Für Ihr Konto wurde ein Passkey eingerichtet. Er gilt von jetzt an bei der Anmeldung.'
  },
  factor_added_recovery_codes: {
    heading: 'Neue Wiederherstellungscodes wurden erstellt',
    text: 'Für Ihr Konto wurden neue Wiederherstellungscodes erstellt. Die bisherigen gelten nicht mehr.'
  },
  factor_removed_totp: {
    heading: 'Eine Authenticator-App wurde entfernt',
    text: 'Eine Authenticator-App gehört nicht mehr zu Ihrem Konto. Die Codes der App gelten bei der Anmeldung nicht mehr.'
  },
  factor_removed_passkey: {
    heading: 'Ein Passkey wurde entfernt',
    text: 'Ein Passkey gehört nicht mehr zu Ihrem Konto und gilt bei der Anmeldung nicht mehr.'
  },
  factor_removed_all: {
    heading: 'Ihre Anmeldung in zwei Schritten wurde zurückgesetzt',
    text: 'Alle Passkeys, Authenticator-Apps und Wiederherstellungscodes Ihres Kontos wurden entfernt, und alle Geräte wurden abgemeldet.'
  },
  recovery_code_used: {
    heading: 'Ein Wiederherstellungscode wurde verwendet',
    text: 'Für die Anmeldung bei Ihrem Konto wurde ein Wiederherstellungscode verwendet. Dieser Code gilt nicht mehr.'
  },
  passkey_counter_regressed: {
    heading: 'Ein Passkey wurde vielleicht kopiert',
    text: 'Ein Passkey Ihres Kontos wurde abgelehnt: Er zählt, wie oft er verwendet wird, und zählte weniger als zuvor. Vielleicht gibt es eine Kopie davon.',
    otherwise: 'Melden Sie sich anders an, entfernen Sie diesen Passkey auf der Sicherheitsseite Ihres Kontos und erstellen Sie einen neuen.'
  },
  sign_in_code: {
    heading: 'Ihr Anmeldecode',
    text: 'Geben Sie diesen Code auf der Seite ein, auf der Sie ihn angefordert haben.',
    button: 'Anmelden',
    otherwise: 'Sagen Sie diesen Code niemandem: Niemand von uns wird Sie je danach fragen. Wenn Sie ihn nicht angefordert haben, können Sie diese Nachricht ignorieren.'
  },
  secure: 'Wenn Sie das nicht waren, legen Sie sofort ein neues Passwort fest: Wählen Sie auf der Anmeldeseite „Passwort vergessen?“.',
  secureWithoutPassword: 'Wenn Sie das nicht waren, öffnen Sie sofort Ihre Kontoseite: Wählen Sie „Überall sonst abmelden“, und entfernen Sie, was nicht von Ihnen ist.',
  notAsked: 'Wenn Sie uns nicht darum gebeten haben, wenden Sie sich sofort an uns.',
  validity: 'Der Link gilt {duration} lang und funktioniert einmal.',
  codeValidity: 'Der Code gilt {duration} und funktioniert einmal.',
  codeAsked: 'Er wurde angefordert am {time} mit: {browser}',
  hint: 'Wenn die Schaltfläche nicht funktioniert, öffnen Sie diese Adresse:',
  signInTime: 'Zeit: {time}',
  signInDevice: 'Gerät: {device}',
  signInAddress: 'IP-Adresse: {address}',
  account: 'Konto: {username}'
})
