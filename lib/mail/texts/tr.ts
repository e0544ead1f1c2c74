import type { MailTexts } from '../mail-texts.ts'

export const TR = (): MailTexts => ({
  password_reset: {
    heading: 'Yeni şifre belirleyin',
    text: 'Hesabınıza yeni bir şifre belirlemek için bağlantı istendi.',
    button: 'Yeni şifre belirle',
    otherwise: 'Bunu siz istemediyseniz bu iletiyi dikkate almayın: Hiçbir şey değişmez.'
  },
  verify_email: {
    heading: 'E-posta adresinizi doğrulayın',
    text: 'Bu e-posta adresiyle bir hesap oluşturuldu. Hesabı siz oluşturduysanız adresi doğrulayın.',
    button: 'Adresi doğrula',
    otherwise: 'Hesabı siz oluşturmadıysanız adresi doğrulamayın. Bu iletiyi dikkate almayabilirsiniz.'
  },
  already_registered: {
    heading: 'Zaten bir hesabınız var',
    text: 'Bu e-posta adresiyle hesap oluşturulmak istendi, ancak bu adresle zaten bir hesap var. Bunu yapan sizseniz giriş yapın veya buradan yeni bir şifre belirleyin.',
    button: 'Yeni şifre belirle',
    otherwise: 'Bunu yapan siz değilseniz bu iletiyi dikkate almayabilirsiniz.'
  },
  password_changed: {
    heading: 'Şifreniz değiştirildi',
    text: 'Hesabınızın şifresi değiştirildi ve diğer tüm cihazlardaki oturumlar kapatıldı.'
  },
  new_sign_in: {
    heading: 'Hesabınıza yeni bir giriş yapıldı',
    text: 'Hesabınıza, daha önce kullanılmamış bir cihaz veya tarayıcıdan giriş yapıldı.',
    button: 'Hesabınızı kontrol edin'
  },
  email_change: {
    heading: 'Yeni e-posta adresinizi doğrulayın',
    text: 'Bu e-posta adresinin bir hesabın adresi olması istendi. Bunu isteyen sizseniz adresi doğrulayın: Bundan sonra önceki adresin yerini alacak.',
    button: 'Adresi doğrula',
    otherwise: 'Bunu isteyen siz değilseniz adresi doğrulamayın. Bu iletiyi dikkate almayabilirsiniz.'
  },
  email_change_requested: {
    heading: 'E-posta adresinizin değiştirilmesi istendi',
    text: 'Hesabınızın e-posta adresinin başka bir adresle değiştirilmesi istendi. Değişiklik, o adrese gönderilen bağlantı kullanıldığında yapılır.',
    otherwise: 'Bunu isteyen siz değilseniz hemen yeni bir şifre belirleyin: Giriş sayfasında “Şifrenizi mi unuttunuz?” seçeneğini kullanın. Böylece tüm oturumlar kapatılır ve değişiklik durdurulur.'
  },
  email_changed: {
    heading: 'E-posta adresiniz değiştirildi',
    text: 'Hesabınızın artık başka bir e-posta adresi var. Bundan sonra bu adrese ileti gönderilmeyecek; bu adrese gönderilmiş bağlantılar da artık çalışmaz.',
    otherwise: 'Bunu yapan siz değilseniz hemen bizimle iletişime geçin.'
  },
  account_removed_user: {
    heading: 'Hesabınız silindi',
    text: 'Hesabınız, hesapta oturumu açık olan birinin isteği üzerine silindi. Tüm cihazlardaki oturumlar kapatıldı.',
    otherwise: 'Bunu isteyen siz değilseniz hemen bizimle iletişime geçin.'
  },
  account_removed_host: {
    heading: 'Hesabınız silindi',
    text: 'Hesabınızı sildik. Tüm cihazlardaki oturumlar kapatıldı.'
  },
  identity_linked: {
    heading: 'Hesabınız için yeni bir giriş yöntemi eklendi',
    text: 'Başka bir sağlayıcıdaki bir hesap, hesabınıza bağlandı. Orada oturum açan kişi sizin hesabınızda da oturum açmış olur.',
    otherwise: 'Bunu yapan siz değilseniz hesap sayfanızda bağlantıyı hemen kaldırın ve yeni bir şifre belirleyin.'
  },
  identity_unlinked: {
    heading: 'Hesabınızın bir giriş yöntemi kaldırıldı',
    text: 'Başka bir sağlayıcıdaki bir hesabın hesabınızla bağlantısı kaldırıldı. Artık kimse onunla hesabınızda oturum açamaz.'
  },
  second_factor_failed: {
    heading: 'Bir giriş ikinci adımda durdu',
    text: 'Birisi hesabınıza girişin ilk adımını geçti, ancak ikinci adımda başarısız oldu.'
  },
  factor_added_totp: {
    heading: 'Bir kimlik doğrulama uygulaması eklendi',
    text: 'Hesabınız için bir kimlik doğrulama uygulaması ayarlandı. Bundan sonra kodları girişte geçerlidir.'
  },
  factor_added_passkey: {
    heading: 'Bir geçiş anahtarı eklendi',
    text: 'Hesabınız için bir geçiş anahtarı ayarlandı. Bundan sonra girişte geçerlidir.'
  },
  factor_added_recovery_codes: {
    heading: 'Yeni kurtarma kodları oluşturuldu',
    text: 'Hesabınız için yeni kurtarma kodları oluşturuldu. Öncekiler artık çalışmıyor.'
  },
  factor_removed_totp: {
    heading: 'Bir kimlik doğrulama uygulaması kaldırıldı',
    text: 'Bir kimlik doğrulama uygulaması artık hesabınıza ait değil. Kodları artık girişte geçerli değil.'
  },
  factor_removed_passkey: {
    heading: 'Bir geçiş anahtarı kaldırıldı',
    text: 'Bir geçiş anahtarı artık hesabınıza ait değil ve girişte geçerli değil.'
  },
  factor_removed_all: {
    heading: 'İki adımlı girişiniz sıfırlandı',
    text: 'Hesabınızdaki tüm geçiş anahtarları, kimlik doğrulama uygulamaları ve kurtarma kodları kaldırıldı ve tüm cihazlardaki oturumlar kapatıldı.'
  },
  recovery_code_used: {
    heading: 'Bir kurtarma kodu kullanıldı',
    text: 'Hesabınıza giriş için bir kurtarma kodu kullanıldı. Bu kod artık çalışmıyor.'
  },
  passkey_counter_regressed: {
    heading: 'Bir geçiş anahtarı kopyalanmış olabilir',
    text: 'Hesabınızın bir geçiş anahtarı reddedildi: Anahtar kullanımlarını sayar ve öncekinden daha az kullanım bildirdi. Bir kopyası olabilir.',
    otherwise: 'Başka bir yolla oturum açın, bu geçiş anahtarını hesabınızın güvenlik sayfasından kaldırın ve yeni bir tane oluşturun.'
  },
  sign_in_code: {
    heading: 'Giriş kodunuz',
    text: 'Bu kodu, istediğiniz sayfaya girin.',
    button: 'Giriş yap',
    otherwise: 'Bu kodu kimseye söylemeyin: ekibimizden hiç kimse sizden bu kodu istemez. Bu kodu siz istemediyseniz bu iletiyi yok sayabilirsiniz.'
  },
  secure: 'Bunu yapan siz değilseniz hemen yeni bir şifre belirleyin: Giriş sayfasında “Şifrenizi mi unuttunuz?” seçeneğini kullanın.',
  secureWithoutPassword: 'Bunu yapan siz değilseniz hemen hesap sayfanızı açın: “Diğer tüm oturumları kapat” seçeneğini kullanın ve size ait olmayanları kaldırın.',
  notAsked: 'Bunu bizden siz istemediyseniz hemen bizimle iletişime geçin.',
  validity: 'Bağlantı {duration} geçerlidir ve yalnızca bir kez kullanılabilir.',
  codeValidity: 'Kod {duration} geçerlidir ve bir kez kullanılabilir.',
  codeAsked: 'İstendiği zaman: {time}; tarayıcı: {browser}',
  hint: 'Düğme çalışmıyorsa şu adresi açın:',
  signInTime: 'Zaman: {time}',
  signInDevice: 'Cihaz: {device}',
  signInAddress: 'IP adresi: {address}',
  account: 'Hesap: {username}'
})
