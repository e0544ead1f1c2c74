import type { MailTexts } from '../mail-texts.ts'

export const IT = (): MailTexts => ({
  password_reset: {
    heading: 'Imposti una nuova password',
    text: 'È stato richiesto un link per impostare una nuova password per il suo account.',
    button: 'Imposta una nuova password',
    otherwise: 'Se non riconosce questa operazione, può ignorare questo messaggio: non cambia nulla.'
  },
  verify_email: {
    heading: 'Confermi il suo indirizzo e-mail',
    text: 'Qualcuno ha creato un account con questo indirizzo e-mail. Se la richiesta è sua, confermi l’indirizzo.',
    button: 'Conferma indirizzo',
    otherwise: 'Se non riconosce questa operazione, non lo confermi. Può ignorare questo messaggio.'
  },
  already_registered: {
    heading: 'Ha già un account',
    text: 'Qualcuno ha tentato di creare un account con questo indirizzo e-mail, ma ne esiste già uno. Se la richiesta è sua, acceda o imposti qui una nuova password.',
    button: 'Imposta una nuova password',
    otherwise: 'Se non riconosce questa operazione, può ignorare questo messaggio.'
  },
  password_changed: {
    heading: 'La sua password è stata modificata',
    text: 'La password del suo account è stata modificata e tutti gli altri dispositivi sono stati disconnessi.'
  },
  new_sign_in: {
    heading: 'Nuovo accesso al suo account',
    text: 'È stato effettuato l’accesso al suo account da un dispositivo o un browser mai usato prima.',
    button: 'Controlli il suo account'
  },
  email_change: {
    heading: 'Confermi il suo nuovo indirizzo e-mail',
    text: 'Qualcuno ha chiesto di usare questo indirizzo e-mail per il proprio account. Se la richiesta è sua, confermi l’indirizzo: da quel momento sostituirà quello precedente.',
    button: 'Conferma indirizzo',
    otherwise: 'Se non riconosce questa operazione, non lo confermi. Può ignorare questo messaggio.'
  },
  email_change_requested: {
    heading: 'È stato richiesto un altro indirizzo e-mail',
    text: 'Qualcuno ha chiesto di sostituire l’indirizzo e-mail del suo account con un altro. La modifica avverrà quando sarà usato il link inviato a quell’indirizzo.',
    otherwise: 'Se non riconosce questa operazione, imposti subito una nuova password: scelga «Password dimenticata?» nella pagina di accesso. In questo modo tutti i dispositivi saranno disconnessi e la modifica sarà annullata.'
  },
  email_changed: {
    heading: 'Il suo indirizzo e-mail è stato modificato',
    text: 'Il suo account ha ora un altro indirizzo e-mail. I messaggi non arrivano più a questo indirizzo e i link inviati qui non funzionano più.',
    otherwise: 'Se non riconosce questa operazione, ci contatti subito.'
  },
  account_removed_user: {
    heading: 'Il suo account è stato eliminato',
    text: 'Il suo account è stato eliminato su richiesta di una persona che vi aveva effettuato l’accesso. Tutti i dispositivi sono stati disconnessi.',
    otherwise: 'Se non riconosce questa operazione, ci contatti subito.'
  },
  account_removed_host: {
    heading: 'Il suo account è stato eliminato',
    text: 'Abbiamo eliminato il suo account. Tutti i dispositivi sono stati disconnessi.'
  },
  identity_linked: {
    heading: 'Nuovo modo di accedere al suo account',
    text: 'Un account presso un altro fornitore è stato collegato al suo account. Chi accede lì accede anche al suo account.',
    otherwise: 'Se non è stato lei, lo scolleghi subito nella pagina del suo account e imposti una nuova password.'
  },
  identity_unlinked: {
    heading: 'Un modo di accedere al suo account è stato rimosso',
    text: 'Un account presso un altro fornitore è stato scollegato dal suo account. Nessuno può più usarlo per accedere al suo account.'
  },
  second_factor_failed: {
    heading: 'Un accesso si è fermato al secondo passaggio',
    text: 'Qualcuno ha superato il primo passaggio di un accesso al suo account, ma non il secondo.'
  },
  factor_added_totp: {
    heading: 'Un’app di autenticazione è stata aggiunta',
    text: 'Per il suo account è stata configurata un’app di autenticazione. D’ora in poi i suoi codici valgono per l’accesso.'
  },
  factor_added_passkey: {
    heading: 'Una passkey è stata aggiunta',
    text: 'Per il suo account è stata configurata una passkey. D’ora in poi vale per l’accesso.'
  },
  factor_added_recovery_codes: {
    heading: 'Sono stati creati nuovi codici di recupero',
    text: 'Per il suo account sono stati creati nuovi codici di recupero. Quelli precedenti non funzionano più.'
  },
  factor_removed_totp: {
    heading: 'Un’app di autenticazione è stata rimossa',
    text: 'Un’app di autenticazione non appartiene più al suo account. I suoi codici non valgono più per l’accesso.'
  },
  factor_removed_passkey: {
    heading: 'Una passkey è stata rimossa',
    text: 'Una passkey non appartiene più al suo account e non vale più per l’accesso.'
  },
  factor_removed_all: {
    heading: 'Il suo accesso in due passaggi è stato reimpostato',
    text: 'Tutte le passkey, le app di autenticazione e i codici di recupero del suo account sono stati rimossi e tutti i dispositivi sono stati disconnessi.'
  },
  recovery_code_used: {
    heading: 'È stato usato un codice di recupero',
    text: 'Per accedere al suo account è stato usato un codice di recupero. Quel codice non funziona più.'
  },
  passkey_counter_regressed: {
    heading: 'Una passkey potrebbe essere stata copiata',
    text: 'Una passkey del suo account è stata rifiutata: conta quante volte viene usata e ne ha indicate meno di prima. Potrebbe esisterne una copia.',
    otherwise: 'Acceda in un altro modo, rimuova questa passkey nella pagina di sicurezza del suo account e ne crei una nuova.'
  },
  sign_in_code: {
    heading: 'Il tuo codice di accesso',
    text: 'Inserisci questo codice nella pagina in cui lo hai richiesto.',
    button: 'Accedi',
    otherwise: 'Non dire a nessuno questo codice: nessuno di noi te lo chiederà mai. Se non lo hai richiesto, puoi ignorare questo messaggio.'
  },
  secure: 'Se non riconosce questa operazione, imposti subito una nuova password: scelga «Password dimenticata?» nella pagina di accesso.',
  secureWithoutPassword: 'Se non è stato lei, apra subito la pagina del suo account: scelga «Esci da tutti gli altri dispositivi» e rimuova ciò che non è suo.',
  notAsked: 'Se non ce lo ha chiesto lei, ci contatti subito.',
  validity: 'Il link è valido per {duration} e può essere usato una sola volta.',
  codeValidity: 'Il codice è valido per {duration} e funziona una volta sola.',
  codeAsked: 'È stato richiesto il {time} con: {browser}',
  hint: 'Se il pulsante non funziona, apra questo indirizzo:',
  signInTime: 'Ora: {time}',
  signInDevice: 'Dispositivo: {device}',
  signInAddress: 'Indirizzo IP: {address}',
  account: 'Account: {username}'
})
