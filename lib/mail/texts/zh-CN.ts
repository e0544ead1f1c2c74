import type { MailTexts } from '../mail-texts.ts'

export const ZH_CN: MailTexts = {
  password_reset: {
    heading: '设置新密码',
    text: '我们收到了为您的账号设置新密码的请求。',
    button: '设置新密码',
    otherwise: '如果这不是您本人的操作，请忽略此邮件，您的密码不会改变。'
  },
  verify_email: {
    heading: '验证您的电子邮箱',
    text: '有人使用此电子邮箱注册了账号。如果是您本人的操作，请验证此邮箱。',
    button: '验证邮箱',
    otherwise: '如果这不是您本人的操作，请勿验证。您可以忽略此邮件。'
  },
  already_registered: {
    heading: '您已有账号',
    text: '有人使用此电子邮箱注册账号，但该邮箱已有账号。如果是您本人的操作，请使用您的密码登录，或在此设置新密码。',
    button: '设置新密码',
    otherwise: '如果这不是您本人的操作，请忽略此邮件。'
  },
  password_changed: {
    heading: '您的密码已更改',
    text: '您的账号密码已更改，其他所有设备均已退出登录。',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。'
  },
  new_sign_in: {
    heading: '您的账号有新的登录',
    text: '有人使用从未登录过的设备或浏览器登录了您的账号。',
    button: '检查您的账户',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。'
  },
  email_change: {
    heading: '验证您的新电子邮箱',
    text: '有人请求将此电子邮箱用于其账号。如果是您本人的操作，请验证此邮箱：此后您将使用该邮箱登录并接收邮件。',
    button: '验证邮箱',
    otherwise: '如果这不是您本人的操作，请勿验证。您可以忽略此邮件。'
  },
  email_change_requested: {
    heading: '有人请求更改您的电子邮箱',
    text: '有人请求将您账号的电子邮箱更改为另一个邮箱。发送到该邮箱的链接被打开并确认后，更改即会生效。',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。设置后，所有设备都将退出登录，此次更改也会取消。'
  },
  email_changed: {
    heading: '您的电子邮箱已更改',
    text: '您的账号现在使用另一个电子邮箱。此邮箱不再接收邮件，之前发送到此邮箱的链接也已失效。',
    otherwise: '如果这不是您本人的操作，请立即与我们联系。'
  },
  account_removed: {
    heading: '您的账号已删除',
    text: '应已登录该账号的用户的请求，您的账号已被删除。所有设备均已退出登录。',
    otherwise: '如果这不是您本人的操作，请立即与我们联系。'
  },
  identity_linked: {
    heading: '您的账号新增了一种登录方式',
    text: '其他服务商的一个账号已与您的账号关联。在该服务商登录的人也将登录到您的账号。',
    otherwise: '如果这不是您本人的操作，请立即在账号页面解除关联，并设置新密码。'
  },
  identity_unlinked: {
    heading: '您的账号已移除一种登录方式',
    text: '其他服务商的一个账号已与您的账号解除关联。任何人都无法再用它登录您的账号。',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。'
  },
  second_factor_failed: {
    heading: '一次登录止于第二步',
    text: '有人输入了您账号的正确密码，但在第二步输入了错误的验证码。',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。'
  },
  factor_added: {
    heading: '您的两步登录已更改',
    text: '您的账号设置了通行密钥、身份验证器应用或新的恢复码。',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。'
  },
  factor_removed: {
    heading: '一个身份验证器应用已被移除',
    text: '一个通行密钥或身份验证器应用已不再属于您的账号，不能再用于登录。',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。'
  },
  recovery_code_used: {
    heading: '一个恢复码已被使用',
    text: '有人使用密码和恢复码登录您的账号。该恢复码已失效。',
    otherwise: '如果这不是您本人的操作，请立即设置新密码：在登录页面选择“忘记密码？”。'
  },
  passkey_counter_regressed: {
    heading: '通行密钥可能已被复制',
    text: '您账号的一个通行密钥被拒绝：它会记录使用次数，而这次报告的次数比之前少。可能存在它的副本。',
    otherwise: '请使用其他方式登录，在账号的安全页面移除此通行密钥，然后创建新的通行密钥。'
  },
  sign_in_code: {
    heading: '您的登录验证码',
    text: '请在您请求验证码的页面输入它。',
    button: '登录',
    otherwise: '请勿将此验证码告诉任何人：我们的工作人员绝不会向您索要。如果您没有请求过，可以忽略此邮件。'
  },
  validity: '此链接在{duration}内有效，且只能使用一次。',
  codeValidity: '验证码在{duration}内有效，只能使用一次。',
  codeAsked: '请求时间：{time}，浏览器：{browser}',
  hint: '如果按钮无法使用，请打开以下地址：',
  signInTime: '时间：{time}',
  signInDevice: '设备：{device}',
  signInAddress: 'IP 地址：{address}',
  account: '账号：{username}'
}
