import type { MailTexts } from '../mail-texts.ts'

export const ZH_TW = (): MailTexts => ({
  password_reset: {
    heading: '設定新密碼',
    text: '我們收到了為您的帳號設定新密碼的要求。',
    button: '設定新密碼',
    otherwise: '若這不是您本人的操作，請忽略此郵件，不會有任何變更。'
  },
  verify_email: {
    heading: '確認您的電子郵件地址',
    text: '有人使用此電子郵件地址建立了帳號。若是您本人的操作，請確認此地址。',
    button: '確認地址',
    otherwise: '若這不是您本人的操作，請勿確認。您可以忽略此郵件。'
  },
  already_registered: {
    heading: '您已經有帳號',
    text: '有人使用此電子郵件地址建立帳號，但此地址已有帳號。若是您本人的操作，請登入，或在此設定新密碼。',
    button: '設定新密碼',
    otherwise: '若這不是您本人的操作，請忽略此郵件。'
  },
  password_changed: {
    heading: '您的密碼已變更',
    text: '您的帳號密碼已變更，其他所有裝置均已登出。'
  },
  new_sign_in: {
    heading: '您的帳號有新的登入',
    text: '有人使用未曾登入過的裝置或瀏覽器登入了您的帳號。',
    button: '檢查您的帳戶'
  },
  email_change: {
    heading: '確認您的新電子郵件地址',
    text: '有人要求將此電子郵件地址用於其帳號。若是您本人的操作，請確認此地址：此後它將取代原來的地址。',
    button: '確認地址',
    otherwise: '若這不是您本人的操作，請勿確認。您可以忽略此郵件。'
  },
  email_change_requested: {
    heading: '有人要求變更您的電子郵件地址',
    text: '有人要求將您帳號的電子郵件地址變更為另一個地址。寄到該地址的連結經使用後，變更即會生效。',
    otherwise: '若這不是您本人的操作，請立即設定新密碼：在登入頁面選擇「忘記密碼？」。設定後，所有裝置都將登出，此次變更也會取消。'
  },
  email_changed: {
    heading: '您的電子郵件地址已變更',
    text: '您的帳號現在使用另一個電子郵件地址。郵件不會再寄到此地址，先前寄到此地址的連結也已失效。',
    otherwise: '若這不是您本人的操作，請立即與我們聯絡。'
  },
  account_removed_user: {
    heading: '您的帳號已刪除',
    text: '應已登入該帳號之使用者的要求，您的帳號已刪除。所有裝置均已登出。',
    otherwise: '若這不是您本人的操作，請立即與我們聯絡。'
  },
  account_removed_host: {
    heading: '您的帳號已刪除',
    text: '我們已刪除您的帳號。所有裝置均已登出。'
  },
  identity_linked: {
    heading: '您的帳號新增了一種登入方式',
    text: '其他服務商的一個帳號已與您的帳號連結。在該服務商登入的人也會登入您的帳號。',
    otherwise: '若這不是您本人的操作，請立即在帳號頁面解除連結，並設定新密碼。'
  },
  identity_unlinked: {
    heading: '您的帳號已移除一種登入方式',
    text: '其他服務商的一個帳號已與您的帳號解除連結。任何人都無法再用它登入您的帳號。'
  },
  second_factor_failed: {
    heading: '一次登入止於第二步驟',
    text: '有人通過了登入您帳號的第一步驟，但未能通過第二步驟。'
  },
  factor_added_totp: {
    heading: '已新增一個驗證器應用程式',
    text: '您的帳號設定了一個驗證器應用程式。今後登入時可使用其驗證碼。'
  },
  factor_added_passkey: {
    heading: '已新增一個通行密鑰',
    text: '您的帳號設定了一個通行密鑰。今後登入時可使用它。'
  },
  factor_added_recovery_codes: {
    heading: '已產生新的復原碼',
    text: '您的帳號產生了新的復原碼。先前的復原碼已失效。'
  },
  factor_removed_totp: {
    heading: '一個驗證器應用程式已被移除',
    text: '一個驗證器應用程式已不再屬於您的帳號，其驗證碼無法再用於登入。'
  },
  factor_removed_passkey: {
    heading: '一個通行密鑰已被移除',
    text: '一個通行密鑰已不再屬於您的帳號，無法再用於登入。'
  },
  factor_removed_all: {
    heading: '您的兩步驟登入已重設',
    text: '您帳號的所有通行密鑰、驗證器應用程式和復原碼均已移除，所有裝置均已登出。'
  },
  recovery_code_used: {
    heading: '一個復原碼已被使用',
    text: '有人使用復原碼登入了您的帳號。該復原碼已失效。'
  },
  passkey_counter_regressed: {
    heading: '通行密鑰可能已遭複製',
    text: '您帳號的一個通行密鑰遭到拒絕：它會記錄使用次數，而這次回報的次數比之前少。可能存在它的副本。',
    otherwise: '請以其他方式登入，在帳號的安全性頁面移除此通行密鑰，然後建立新的通行密鑰。'
  },
  sign_in_code: {
    heading: '您的登入驗證碼',
    text: '請在您要求驗證碼的頁面輸入它。',
    button: '登入',
    otherwise: '請勿將此驗證碼告訴任何人：我們的人員絕不會向您索取。如果您沒有要求過，可以忽略此郵件。'
  },
  secure: '若這不是您本人的操作，請立即設定新密碼：在登入頁面選擇「忘記密碼？」。',
  secureWithoutPassword: '若這不是您本人的操作，請立即開啟帳號頁面：選擇「登出其他所有裝置」，並移除不屬於您的項目。',
  notAsked: '若您未曾向我們提出此要求，請立即與我們聯絡。',
  validity: '此連結在 {duration}內有效，且只能使用一次。',
  codeValidity: '驗證碼在{duration}內有效，只能使用一次。',
  codeAsked: '要求時間：{time}，瀏覽器：{browser}',
  hint: '若按鈕無法使用，請開啟以下網址：',
  signInTime: '時間：{time}',
  signInDevice: '裝置：{device}',
  signInAddress: 'IP 位址：{address}',
  account: '帳號：{username}'
})
